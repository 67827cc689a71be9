// Runs of the command, and models small enough to be worked by hand: what tests of evaluate, predict and
// inspect stand on.

#pragma once

#include "data/model_file/safetensors.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <sys/wait.h>

namespace troupe::test {

/// Runs of the command in a folder of their own, as a shell starts them.
class command_runs : public testing::Test {
protected:
  /// Runs `troupe ARGUMENTS` in the folder, after `before` (variables, limits), and gives its exit code; `out`
  /// and `err` are what it said. Arguments that send its output elsewhere are left as they are.
  int run(const std::string& arguments, const std::string& before = "") {
    const bool redirected = arguments.find('>') != std::string::npos;
    const std::string line = "cd '" + folder.path() + "' && " + before +
                             " '" TROUPE_BINARY_DIR "/bin/troupe' " + arguments +
                             (redirected ? "" : " >out") + " 2>err";
    const int status = std::system(line.c_str());
    out = folder.has("out") ? folder.read("out") : "";
    err = folder.read("err");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  bool said(const std::string& text) const { return err.find(text) != std::string::npos; }

  temporary_folder folder;
  std::string out;
  std::string err;
};

class model_commands : public command_runs {
protected:
  // flower.model: scores (a, b) of two features: class "no" where a > b, else "yes".
  // line.model: y = 2 a - b + 1.
  void SetUp() override {
    parameter_layout layout;
    layout.add("layers.0.weight", {2, 2});
    layout.add("layers.0.bias", {2});
    auto metadata = common;
    metadata["loss"] = "categorical-cross-entropy";
    metadata["classes"] = R"(["no","yes"])";
    metadata["target"] = R"(["answer"])";
    write_safetensors(folder.path("flower.model"), layout, std::vector<float>{1, 0, 0, 1, 0, 0},
                      metadata);
    layout = {};
    layout.add("layers.0.weight", {1, 2});
    layout.add("layers.0.bias", {1});
    metadata = common;
    metadata["loss"] = "squared";
    metadata["target"] = R"(["y"])";
    write_safetensors(folder.path("line.model"), layout, std::vector<float>{2, -1, 1}, metadata);
  }

  /// In so much address space.
  int run_with_kibibytes(size_t count, const std::string& arguments) {
    return run(arguments, "ulimit -v " + std::to_string(count) + " &&");
  }

  const std::map<std::string, std::string> common{{"format", "troupe-model-1"},
                                                  {"kind", "neural-network"},
                                                  {"activation", "relu"},
                                                  {"features", R"(["a","b"])"}};
};

} // namespace troupe::test
