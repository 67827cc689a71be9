// evaluate and predict on every format that training reads: the same rows are the same figures.

#include "tests/support/gzip_text.hpp"
#include "tests/support/model_commands.hpp"

#include <nlohmann/json.hpp>

#include <bit>

namespace troupe::model_formats_test {
namespace {

using namespace std::string_literals;

std::string bytes(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

std::string npy(const std::string& shape, const std::vector<float>& values) {
  const auto header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + shape + "), }";
  return "\x93NUMPY\1\0"s + static_cast<char>(header.size()) + '\0' + header + bytes(values);
}

class model_formats : public test::model_commands {
protected:
  // flower.model once more, with classes called 0 and 1; line.model as it is. Targets of the rows
  // suit both.
  void SetUp() override {
    model_commands::SetUp();
    auto metadata = common;
    metadata["loss"] = "categorical-cross-entropy";
    metadata["classes"] = R"(["0","1"])";
    metadata["target"] = R"(["label"])";
    metadata["feature_mean"] = "3f800000 3f800000";      // 1, 1
    metadata["feature_deviation"] = "40000000 40000000"; // 2, 2
    parameter_layout layout;
    layout.add("layers.0.weight", {2, 2});
    layout.add("layers.0.bias", {2});
    write_safetensors(folder.path("digit.model"), layout, std::vector<float>{1, 0, 0, 1, 0, 0},
                      metadata);
    const auto csv = "2,1,0\n3,0,1\n0,1,1\n1,4,1\n"s;
    const auto svm = "0 1:2 2:1\n1 1:3\n1 2:1 # one\n1 1:1 2:4\n"s;
    const auto features = "\0\0\x08\2\0\0\0\4\0\0\0\2\2\1\3\0\0\1\1\4"s;
    const auto labels = "\0\0\x08\1\0\0\0\4\0\1\1\1"s;
    folder.write("rows.csv", csv);
    folder.write("rows.csv.gz", gzip_text(csv));
    folder.write("rows.svm", svm);
    folder.write("rows.svm.gz", gzip_text(svm));
    folder.write("from-0.svm", "0 0:2 1:1\n1 0:3\n1 1:1\n1 0:1 1:4\n");
    folder.write("r-images-idx3-ubyte", features);
    folder.write("r-labels-idx1-ubyte", labels);
    folder.write("z-images-idx3-ubyte.gz", gzip_text(features));
    folder.write("z-labels-idx1-ubyte.gz", gzip_text(labels));
    folder.write("column.idx", "\0\0\x08\2\0\0\0\4\0\0\0\3\2\1\0\3\0\1\0\1\1\1\4\1"s);
    folder.write("features.npy", npy("4, 2", {2, 1, 3, 0, 0, 1, 1, 4}));
    folder.write("labels.npy", npy("4,", {0, 1, 1, 1}));
    folder.write("column.npy", npy("4, 3", {2, 1, 0, 3, 0, 1, 0, 1, 1, 1, 4, 1}));
    folder.write("first.npy.gz", gzip_text(npy("4, 3", {0, 2, 1, 1, 3, 0, 1, 0, 1, 1, 1, 4})));
  }

  nlohmann::json figures(const std::string& arguments) {
    EXPECT_EQ(run("evaluate " + arguments + " --json"), 0) << arguments << ": " << out;
    auto object = nlohmann::json::parse(out);
    object.erase("data_file");
    return object;
  }

  // What `evaluate` says is wrong, as "where: what".
  std::string refusal(const std::string& arguments, int code) {
    EXPECT_EQ(run("evaluate " + arguments + " --json"), code) << arguments << ": " << out;
    const auto error = nlohmann::json::parse(out)["error"];
    return error["where"].get<std::string>() + ": " + error["what"].get<std::string>();
  }
};

constexpr const char* sources[] = {"rows.csv.gz",
                                   "rows.svm",
                                   "rows.svm.gz",
                                   "from-0.svm --index-base 0",
                                   "from-0.svm --index_base=0",
                                   "r-images-idx3-ubyte",
                                   "z-images-idx3-ubyte.gz",
                                   "r-images-idx3-ubyte --labels-file labels.npy",
                                   "column.idx",
                                   "features.npy --labels_file r-labels-idx1-ubyte",
                                   "column.npy",
                                   "column.npy --target 2",
                                   "first.npy.gz --target 0"};

} // namespace

TEST_F(model_formats, same_rows_are_judged_the_same_in_every_format) {
  for (const std::string model : {"digit.model ", "line.model "}) {
    const auto expected = figures(model + "rows.csv");
    EXPECT_EQ(expected["rows"], 4);
    for (const auto* source : sources)
      EXPECT_EQ(figures(model + source), expected) << model << source;
  }
}

TEST_F(model_formats, same_rows_are_predicted_the_same_in_every_format) {
  ASSERT_EQ(run("predict digit.model rows.csv --probabilities"), 0) << err;
  const auto expected = out;
  for (const auto* source : {"rows.svm", "from-0.svm --index-base 0", "r-images-idx3-ubyte",
                             "column.idx", "features.npy", "column.npy", "first.npy.gz --target 0"})
    EXPECT_TRUE(run("predict digit.model "s + source + " --probabilities") == 0 && out == expected)
      << source << ": " << err << out;
  folder.write("anonymous", folder.read("rows.svm.gz"));
  EXPECT_EQ(run("predict digit.model anonymous --probabilities"), 0) << err;
  EXPECT_EQ(out, expected) << "by content";
  EXPECT_EQ(run("predict digit.model anonymous --format csv"), 65) << "though it looks like libsvm";
}

TEST_F(model_formats, libsvm_files_are_counted_as_in_training_unless_told_otherwise) {
  const auto one = read_safetensors(folder.path("digit.model"));
  auto metadata = one.metadata;
  metadata["index_base"] = "0";
  write_safetensors(folder.path("zero.model"), one.layout, one.values, metadata);
  const auto expected = figures("digit.model rows.svm");
  for (const auto* arguments : {"zero.model from-0.svm", "zero.model rows.svm --index-base 1"}) {
    auto found = figures(arguments);
    found["model_file"] = "digit.model";
    EXPECT_EQ(found, expected) << arguments;
  }
}

TEST_F(model_formats, labels_the_model_does_not_know_are_told_with_their_place) {
  folder.write("d.svm", "0 1:1\n7 2:1\n");
  EXPECT_EQ(refusal("digit.model d.svm", 65), "d.svm:2: the model knows no class '7'");
  folder.write("d.npy", npy("2, 3", {0, 0, 1, 0, 0, 2.5f}));
  const auto last = std::to_string(folder.read("d.npy").size() - sizeof(float));
  EXPECT_EQ(refusal("digit.model d.npy", 65),
            "d.npy: the model knows no class '2.5', at byte " + last);
  folder.write("d-labels-idx1", "\0\0\x08\1\0\0\0\4\0\1\1\3"s);
  folder.write("d-images-idx3", folder.read("r-images-idx3-ubyte"));
  EXPECT_EQ(refusal("digit.model d-images-idx3", 65),
            "d-labels-idx1: the model knows no class '3', at byte 11");
}

TEST_F(model_formats, files_that_do_not_fit_the_model_are_refused) {
  folder.write("d.svm", "0 1:1\n1 3:1\n");
  EXPECT_EQ(refusal("digit.model d.svm", 65),
            "d.svm:2:3: the index '3' is too large: there may be 2 features");
  EXPECT_EQ(refusal("digit.model from-0.svm", 65), "from-0.svm:1:3: the index '0' is below the "
                                                   "first, 1");
  EXPECT_NE(refusal("digit.model features.npy", 65).find("and so no target"), std::string::npos);
  folder.write("wide.npy", npy("1, 4", {1, 2, 3, 4}));
  EXPECT_NE(refusal("digit.model wide.npy", 65).find("the file has 4 columns; the model takes 2"),
            std::string::npos);
  EXPECT_NE(refusal("digit.model column.npy --labels-file labels.npy", 65).find("3 columns"),
            std::string::npos)
    << "the labels stand in their own file and in a column";
  EXPECT_EQ(refusal("digit.model features.npy --labels-file none.npy", 66).substr(0, 9),
            "none.npy:");
}

TEST_F(model_formats, options_without_use_are_refused) {
  for (const auto* arguments :
       {"rows.csv --labels-file labels.npy", "rows.svm --labels-file labels.npy",
        "rows.svm --target 0", "rows.svm --index-base 2", "rows.csv --format arff",
        "features.npy --labels-file labels.npy --target 0"})
    EXPECT_EQ(run("evaluate digit.model "s + arguments), 2) << arguments << ": " << err;
  EXPECT_EQ(run("predict digit.model features.npy --labels-file labels.npy"), 2);
}

} // namespace troupe::model_formats_test
