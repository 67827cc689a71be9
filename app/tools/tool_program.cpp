#include "troupe/app/tools/tool_program.hpp"

#include "troupe/app/terminal/figures_text.hpp"
#include "troupe/data/text/failure.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <sys/mman.h>
#include <unistd.h>

namespace troupe {

namespace {

/// A file of no folder, which lives as long as a process has it open.
std::string path_of_archive() {
  const auto bytes = tool_asset_at("/tools.zip")->bytes;
  const int file = memfd_create("troupe-tools", 0);
  if (file < 0 || write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    throw failure(failure_code::internal,
                  std::string{"cannot write to memory: "} + std::strerror(errno));
  return "/proc/self/fd/" + std::to_string(file);
}

/// Isolated: of the environment, the current folder and the user's own packages nothing is read.
[[noreturn]] void become(const std::string& name, const std::vector<std::string>& options) {
  std::vector<std::string> words{"python3", "-I", "-B", "-X", "utf8", path_of_archive(), name};
  words.push_back("troupe=" + std::filesystem::read_symlink("/proc/self/exe").string());
  words.insert(words.end(), options.begin(), options.end());
  std::vector<char*> arguments;
  for (auto& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  for (const auto* program : {"/usr/bin/python3", "python3"}) // Debian's own, else that of PATH
    execvp(program, arguments.data());
  throw failure(failure_code::missing_input,
                "'troupe " + name +
                  "' needs Python, and python3 cannot be run: " + std::strerror(errno),
                {}, "install Python 3.9 or later (Debian: apt-get install python3)");
}

} // namespace

int run_tool_program(const std::string& name, const std::vector<std::string>& options, bool json) {
  return with_failure_object(json, [&]() -> int { become(name, options); });
}

} // namespace troupe
