// Makes gzip data in memory, for tests of readers.

#pragma once

#include <zlib.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace troupe {

/// `text` as one gzip member.
inline std::string gzip_text(std::string_view text) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("gzip_text: zlib cannot be started");
  std::string result(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  auto status = deflate(&stream, Z_FINISH);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  if (status != Z_STREAM_END)
    throw std::runtime_error("gzip_text: zlib failed");
  return result;
}

} // namespace troupe
