// Timelines that are merged: one file, or two with a zero between them.

#include "data/records/trace_file.hpp"
#include "tests/fuzz/hostile.hpp"

#include <filesystem>
#include <vector>

using namespace troupe;

namespace {

// In memory where there is such a folder: each merge that succeeds writes it.
std::string output_path() {
  const std::filesystem::path memory{"/dev/shm"};
  const auto folder =
    std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
  return (folder / ("troupe-fuzz-" + std::to_string(getpid()) + ".json")).string();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const fuzz::hostile_file first, second;
  static const auto path = output_path();
  const auto text = fuzz::text_of(bytes, size);
  const auto end = text.find('\0');
  std::vector<std::string> files{first.holding(text.substr(0, end))};
  if (end != std::string_view::npos)
    files.push_back(second.holding(text.substr(end + 1)));
  fuzz::expect_result_or_failure([&] {
    const auto merged = merge_traces(files, path);
    fuzz::require(merged.processes.size() == files.size(), "each file is a process");
    fuzz::require(merged.early <= merged.flows, "what is early is a part of all");
  });
  unlink(path.c_str());
  return 0;
}
