// Checkpoints: the whole file, its head with the checksum mended (no search would find a good one),
// and the record alone. What can be read is held against a job, whose shape the seeds have.

#include "data/checkpoint/checkpoint.hpp"
#include "data/checkpoint/checkpoint_file.hpp"
#include "data/checkpoint/checkpoint_layout.hpp"
#include "data/text/checksum.hpp"
#include "tests/fuzz/hostile.hpp"
#include "tests/support/plain_disk.hpp"

#include <cstdlib>
#include <cstring>

using namespace troupe;

namespace {

constexpr size_t preamble_bytes = 24;
constexpr size_t first_record_begin = 40; // of the first format; later ones have it before the tail
constexpr size_t tail_bytes = 24;

// Makes the head's own checksum right when the record lies within the file.
void mend(std::vector<std::byte>& file) {
  if (file.size() < first_record_begin + tail_bytes)
    return;
  uint32_t record_bytes = 0;
  std::memcpy(&record_bytes, file.data() + 12, sizeof record_bytes);
  if (record_bytes > file.size() - first_record_begin - tail_bytes)
    return;
  const auto record_begin = static_cast<std::ptrdiff_t>(
    file[8] == std::byte{1} ? first_record_begin : file.size() - tail_bytes - record_bytes);
  const uint64_t file_bytes = file.size();
  std::memcpy(file.data() + 16, &file_bytes, sizeof file_bytes);
  std::vector<std::byte> head{file.begin(), file.begin() + preamble_bytes};
  head.insert(head.end(), file.begin() + record_begin, file.begin() + record_begin + record_bytes);
  const auto checksum = checksum_of(head);
  std::memcpy(file.data() + preamble_bytes, checksum.data(), checksum.size());
}

void read(const plain_disk& disk) {
  fuzz::expect_result_or_failure([&] {
    const auto found = checkpoint_file{disk, "hostile"}.read();
    const bool fits = !misfit(found, {5, 2, 3, 4, 10});
    if (fits && (found.slots.size() != 2 || found.optimizer_numbers.size() != 3 ||
                 (!found.history.empty() && found.history.back().steps > found.version)))
      std::abort(); // it would be used
  });
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  plain_disk disk;
  const auto* begin = reinterpret_cast<const std::byte*>(bytes);
  auto& file = disk.files["hostile"];
  file.assign(begin, begin + size);
  read(disk);
  mend(file);
  read(disk);
  fuzz::expect_result_or_failure([&] { parse_checkpoint_record({begin, size}, "hostile", 0); });
  return 0;
}
