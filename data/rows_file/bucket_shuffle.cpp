#include "data/rows_file/bucket_shuffle.hpp"

#include "data/text/failure.hpp"
#include "models/base/copy_values.hpp"
#include "models/base/random.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace troupe {

namespace {

/// What is shuffled in memory at once, and how many files there may be: each has a buffer of 4 KiB.
constexpr uint64_t bucket_bytes_wanted = uint64_t{32} << 20;
constexpr uint64_t buckets_max = 512;

std::FILE* nameless_file(const std::string& folder) {
#ifdef O_TMPFILE
  if (const auto number = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600); number >= 0)
    return ::fdopen(number, "w+b");
#endif
  auto name = folder + "/.troupe-shuffle-XXXXXX";
  const auto number = ::mkstemp(name.data());
  if (number < 0)
    return nullptr;
  ::unlink(name.c_str());
  return ::fdopen(number, "w+b");
}

} // namespace

bucket_shuffle::bucket_shuffle(const std::string& folder, uint64_t seed, const rows_header& header)
  : folder_(folder),
    seed_(seed),
    feature_count_(header.feature_count),
    target_count_(header.target_count()),
    words_(feature_count_ + std::max<uint64_t>(target_count_, 1)),
    row_(words_) {
  const auto bytes = header.row_count * words_ * sizeof(float);
  buckets_.resize(std::clamp<uint64_t>(bytes / bucket_bytes_wanted + 1, 1, buckets_max));
  for (auto& bucket : buckets_) {
    bucket.file.reset(nameless_file(folder));
    if (!bucket.file)
      fail("cannot make a file for rows on their way");
  }
}

void bucket_shuffle::fail(const std::string& what) const {
  throw failure(failure_code::io_error, what + ": " + std::generic_category().message(errno),
                folder_, "shuffling needs as much of the disk again as the rows");
}

void bucket_shuffle::append(const rows_part& rows) {
  const random_sequence sequence{seed_, random_purpose::shuffle_chunks, 0};
  for (size_t i = 0; i * feature_count_ < rows.features.size(); ++i) {
    copy_values(rows.features.subspan(i * feature_count_, feature_count_), row_.begin());
    const auto targets = row_.begin() + static_cast<std::ptrdiff_t>(feature_count_);
    if (target_count_ == 0)
      *targets = std::bit_cast<float>(rows.labels[i]);
    else
      copy_values(rows.targets.subspan(i * target_count_, target_count_), targets);
    const auto word = sequence.block(static_cast<uint32_t>(appended_++))[0];
    auto& bucket = buckets_[uint64_t{word} * buckets_.size() >> 32];
    if (std::fwrite(row_.data(), sizeof(float), words_, bucket.file.get()) != words_)
      fail("cannot write rows on their way");
    ++bucket.row_count;
  }
}

void bucket_shuffle::drain(rows_writer& out) {
  for (size_t b = 0; b < buckets_.size(); ++b) {
    auto& bucket = buckets_[b];
    std::vector<float> rows(bucket.row_count * words_);
    std::rewind(bucket.file.get());
    if (std::fread(rows.data(), sizeof(float), rows.size(), bucket.file.get()) != rows.size())
      fail("cannot read rows on their way");
    bucket.file.reset();
    const auto order = random_permutation({seed_, random_purpose::shuffle_window, b},
                                          static_cast<uint32_t>(bucket.row_count));
    for (const auto number : order) {
      const auto row = std::span<const float>{rows}.subspan(number * words_, words_);
      const auto label = std::bit_cast<int32_t>(row[feature_count_]);
      if (target_count_ == 0)
        out.append({row.first(feature_count_), {&label, 1}, {}});
      else
        out.append({row.first(feature_count_), {}, row.subspan(feature_count_)});
    }
  }
}

} // namespace troupe
