#include "data/rows_file/row_chunks.hpp"

#include "data/source/text_source.hpp"
#include "data/table/memory_room.hpp"
#include "data/text/failure.hpp"

#include <cstring>

namespace troupe {

void copy_features(const rows_header& header, const rows_chunk& chunk, size_t row,
                   std::span<float> out) {
  const auto* bytes = chunk.features.data() + row * header.feature_bytes();
  if (header.type == feature_type::f32) {
    std::memcpy(out.data(), bytes, out.size_bytes());
    return;
  }
  for (size_t j = 0; j < out.size(); ++j)
    out[j] = static_cast<float>(std::to_integer<uint8_t>(bytes[j]));
}

dataset names_of(const rows_header& header) {
  dataset result;
  result.feature_count = header.feature_count;
  result.feature_names = header.feature_names;
  result.classes = header.classes;
  result.target_count = header.target_count();
  result.target_names = header.target_names;
  return result;
}

dataset read_rows(const row_chunks& rows, uint64_t bytes_max) {
  const auto& header = rows.header();
  const auto bytes =
    header.row_count * (header.feature_count * sizeof(float) + header.target_bytes());
  const auto room = bytes_max > 0 ? bytes_max : memory_available();
  if (bytes > room)
    throw failure(failure_code::bad_data,
                  "its rows need " + std::to_string(bytes) + " bytes of memory, " +
                    std::to_string(room) + " are available",
                  rows.name(),
                  "leave them on the disk: data.shuffle = \"lanes\" trains on windows of them");
  auto result = names_of(header);
  result.row_count = header.row_count;
  result.features.resize(header.row_count * header.feature_count);
  size_t row = 0;
  for (uint64_t number = 0; number < header.chunk_count(); ++number) {
    reading_stop::check();
    const auto chunk = rows.read_chunk(number);
    for (size_t i = 0; i < chunk.row_count; ++i, ++row)
      rows.copy_features(
        chunk, i,
        std::span{result.features}.subspan(row * header.feature_count, header.feature_count));
    result.labels.insert(result.labels.end(), chunk.labels.begin(), chunk.labels.end());
    result.targets.insert(result.targets.end(), chunk.targets.begin(), chunk.targets.end());
  }
  return result;
}

} // namespace troupe
