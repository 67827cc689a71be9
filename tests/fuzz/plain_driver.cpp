// Runs a fuzzing target without libFuzzer:
//
//   fuzz_NAME [-runs=N] [FOLDER]...
//
// gives it every file of the folders, in order of their names, and then N mutations of them, the
// same ones each time. It is no search, and keeps the targets compiled and the findings found.

#include "tests/fuzz/hostile.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

void add_files(const std::string& folder, std::vector<std::string>& out) {
  std::vector<fs::path> paths;
  if (fs::is_directory(folder))
    for (const auto& entry : fs::directory_iterator{folder})
      paths.push_back(entry.path());
  std::ranges::sort(paths);
  for (const auto& path : paths)
    out.push_back(content_of(path));
}

// mt19937 is the same everywhere, the standard's distributions are not.
class mutator {
public:
  std::string mutated(std::string text) {
    for (size_t count = 1 + below(4); count > 0; --count)
      change(text);
    return text;
  }

  size_t below(size_t limit) { return generator_() % limit; }

private:
  void change(std::string& text) {
    const size_t at = below(text.size() + 1);
    const size_t length = 1 + below(8);
    switch (below(4)) {
    case 0:
      text.insert(at, 1, static_cast<char>(below(256)));
      break;
    case 1:
      text.erase(at, length);
      break;
    case 2:
      text.insert(at, text.substr(below(text.size() + 1), length));
      break;
    default:
      if (at < text.size())
        text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
    }
  }

  std::mt19937 generator_{1};
};

void run(const std::string& text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(text.data()), text.size());
}

} // namespace

int main(int argc, char** argv) {
  std::vector<std::string> inputs;
  size_t runs = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with("-runs="))
      runs = std::stoul(argument.substr(6));
    else
      add_files(argument, inputs);
  }
  if (inputs.empty()) {
    std::fprintf(stderr, "no inputs: build fuzz_corpora and give the folder it writes\n");
    return 1;
  }
  for (const auto& text : inputs)
    run(text);
  mutator random;
  for (size_t i = 0; i < runs; ++i)
    run(random.mutated(inputs[random.below(inputs.size())]));
  std::printf("%zu inputs and %zu mutations\n", inputs.size(), runs);
  return 0;
}
