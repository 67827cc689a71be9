// Writes and looks for checkpoints in a folder of the real disk, for tests that kill the writer or
// fill the disk.
//
//   checkpoint_writer write FOLDER PARAMETERS FIRST LAST    a line "written V" after each
//   checkpoint_writer latest FOLDER PARAMETERS              "skipped PATH: REASON" lines, "found V"
//
// Ends with the exit code of a failure, its text on standard error.

#include "data/checkpoint/checkpoint_store.hpp"
#include "data/text/failure.hpp"
#include "tests/support/some_checkpoint.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

using namespace troupe;

checkpoint content_of(uint64_t version, size_t parameter_count) {
  return some_checkpoint(version, {parameter_count, 1, false, "job"});
}

void write(const std::string& folder, size_t parameter_count, uint64_t first, uint64_t last) {
  checkpoint_store store{posix_disk(), folder};
  for (auto version = first; version <= last; ++version) {
    store.write(content_of(version, parameter_count));
    std::printf("written %llu\n", static_cast<unsigned long long>(version));
    std::fflush(stdout);
  }
}

int find(const std::string& folder, size_t parameter_count) {
  const auto found = checkpoint_store{posix_disk(), folder}.latest("job");
  for (const auto& one : found.skipped)
    std::printf("skipped %s: %s\n", one.path.c_str(), one.reason.c_str());
  if (!found.newest) {
    std::printf("found nothing\n");
    return 0;
  }
  const auto version = found.newest->version;
  std::printf("found %llu\n", static_cast<unsigned long long>(version));
  return same(*found.newest, content_of(version, parameter_count)) ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
  const std::string command = argc > 3 ? argv[1] : "";
  try {
    if (command == "latest")
      return find(argv[2], std::strtoull(argv[3], nullptr, 10));
    if (command != "write" || argc < 6)
      return 2;
    write(argv[2], std::strtoull(argv[3], nullptr, 10), std::strtoull(argv[4], nullptr, 10),
          std::strtoull(argv[5], nullptr, 10));
  } catch (const failure& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}
