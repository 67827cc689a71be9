// Checkpoints: the whole file, the same with its checksum mended (no search would find a good one),
// and the record alone. What can be read is held against a job, whose shape the seeds have.

#include "data/checkpoint/checkpoint.hpp"
#include "data/checkpoint/checkpoint_file.hpp"
#include "data/checkpoint/checkpoint_layout.hpp"
#include "data/model_file/tensor_file.hpp"
#include "data/records/history_file.hpp"
#include "data/text/failure.hpp"
#include "tests/fuzz/hostile.hpp"
#include "tests/support/plain_disk.hpp"

#include <algorithm>
#include <cstdlib>

using namespace troupe;

namespace {

// Makes the checksum of all but the tensors right, where a header tells what is what.
void mend(std::vector<std::byte>& file, const plain_disk& disk) {
  try {
    static constexpr std::string_view dtypes[] = {"F32", "U8"};
    const tensor_file opened{open_to_read(disk, "hostile"), "hostile", dtypes, ""};
    const checkpoint_texts texts{{}, opened.text("record"), opened.text("history.csv")};
    const auto end =
      checkpoint_format::end_of(opened.front(), opened.text("chunk_checksums", 3), texts);
    const auto checksum = std::as_bytes(std::span{end}).last(sizeof(checksum_bytes));
    if (opened.text("checksum").size() == checksum.size())
      std::ranges::copy(checksum, file.end() - sizeof(checksum_bytes));
  } catch (const failure&) { // there is nothing to mend
  }
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
  mend(file, disk);
  read(disk);
  fuzz::expect_result_or_failure([&] {
    head_of({"a", std::string{fuzz::text_of(bytes, size)}, history_text({})}, "hostile");
  });
  return 0;
}
