// Runs of the command, and models small enough to be worked by hand: what tests of evaluate, predict and
// inspect stand on.

#pragma once

#include "data/model_file/safetensors.hpp"
#include "tests/support/contains.hpp"
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

  testing::AssertionResult said(const std::string& text) const { return contains(err, text); }

  temporary_folder folder;
  std::string out;
  std::string err;
};

class model_commands : public command_runs {
protected:
  // flower.model: scores (a, b) of two features: class "no" where a > b, else "yes".
  // line.model: y = 2 a - b + 1.
  void SetUp() override {
    write_model("flower.model", 2, {1, 0, 0, 1, 0, 0},
                common_with({{"loss", "categorical-cross-entropy"},
                             {"classes", R"(["no","yes"])"},
                             {"target", R"(["answer"])"}}));
    write_model("line.model", 1, {2, -1, 1},
                common_with({{"loss", "squared"}, {"target", R"(["y"])"}}));
  }

  /// Weights of two features for each output, then the biases.
  void write_model(const std::string& name, size_t outputs, const std::vector<float>& values,
                   const std::map<std::string, std::string>& metadata) const {
    parameter_layout layout;
    layout.add("layers.0.weight", {outputs, 2});
    layout.add("layers.0.bias", {outputs});
    write_safetensors(folder.path(name), layout, values, metadata);
  }

  std::map<std::string, std::string> common_with(std::map<std::string, std::string> more) const {
    more.insert(common.begin(), common.end());
    return more;
  }

  void expect_prediction(const std::string& arguments, const std::string& text) {
    EXPECT_EQ(run("predict " + arguments), 0) << arguments << ": " << err;
    EXPECT_EQ(out, text) << arguments;
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
