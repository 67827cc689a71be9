// evaluate, predict and inspect as scripts see them, on a model small enough to be worked by hand.

#include "tests/support/model_commands.hpp"

#include "tests/support/gzip_text.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <sstream>

namespace troupe::model_commands_test {
namespace {

using test::model_commands;

TEST_F(model_commands, evaluation_of_classes_is_the_one_worked_by_hand) {
  // Predicted no, no, yes, yes; actual no, yes, yes, yes.
  folder.write("d.csv", "a,b,answer\n2,1,no\n3,0,yes\n0,1,yes\n1,1.5,yes\n");
  ASSERT_EQ(run("evaluate flower.model d.csv --json"), 0) << err;
  const auto object = nlohmann::json::parse(out);
  EXPECT_EQ(object["rows"], 4);
  EXPECT_EQ(object["accuracy"], 0.75);
  EXPECT_EQ(object["confusion_matrix"], nlohmann::json::parse("[[1,0],[1,2]]"));
  EXPECT_DOUBLE_EQ(object["auc"], 2.0 / 3); // scores -1 of the no, -3, 1 and 0.5 of the others
  EXPECT_DOUBLE_EQ(object["classes"][1]["auc"], 2.0 / 3);
  EXPECT_EQ(object["auc_error_max"], 0);
  EXPECT_EQ(object["classes"][0]["precision"], 0.5);
  EXPECT_EQ(object["classes"][0]["recall"], 1.0);
  EXPECT_EQ(object["classes"][1]["class"], "yes");
  EXPECT_EQ(object["classes"][1]["rows"], 3);
  EXPECT_NEAR(object["classes"][1]["f1"], 0.8, 1e-15);
  EXPECT_NEAR(object["macro"]["f1"], (2.0 / 3 + 0.8) / 2, 1e-15);
  const auto loss = [](double margin) { return std::log1p(std::exp(-margin)); };
  EXPECT_NEAR(object["loss"], (loss(1) + loss(-3) + loss(1) + loss(0.5)) / 4, 1e-6);
  ASSERT_EQ(run("evaluate flower.model d.csv"), 0);
  EXPECT_TRUE(test::contains(out, "\nno           0.5         1  0.666667     1\n"));
}

TEST_F(model_commands, evaluation_of_numbers_is_the_one_worked_by_hand) {
  // Predictions 1, 3, 2 for 1, 2, 6: errors 0, 1, -4; squares around the mean 3: 4 + 1 + 9.
  folder.write("d.csv", "y,a,b\n1,0,0\n2,1,0\n6,1,1\n");
  ASSERT_EQ(run("evaluate line.model d.csv --json"), 0) << err;
  const auto object = nlohmann::json::parse(out);
  EXPECT_DOUBLE_EQ(object["mean_squared_error"], 17.0 / 3);
  EXPECT_DOUBLE_EQ(object["mean_absolute_error"], 5.0 / 3);
  EXPECT_DOUBLE_EQ(object["r2"], 1 - 17.0 / 14);
  EXPECT_EQ(object["loss"], object["mean_squared_error"]);
  folder.write("same.csv", "0,0,5\n1,0,5\n");
  ASSERT_EQ(run("evaluate line.model same.csv --json"), 0) << err;
  EXPECT_TRUE(nlohmann::json::parse(out)["r2"].is_null()) << "targets that do not vary";
  EXPECT_EQ(run("evaluate line.model d.csv"), 0);
  EXPECT_TRUE(out.ends_with("r2                   -0.214286\n")) << out;
}

TEST_F(model_commands, label_the_model_does_not_know_is_told_with_its_line) {
  folder.write("d.csv", "a,b,answer\n2,1,no\n3,0,maybe\n");
  EXPECT_EQ(run("evaluate flower.model d.csv --json"), 65);
  const auto error = nlohmann::json::parse(out)["error"];
  EXPECT_EQ(error["code"], "bad-data");
  EXPECT_EQ(error["where"], "d.csv:3");
  EXPECT_EQ(error["what"], "the model knows no class 'maybe'");
  folder.write("d.csv", "a,b,y\n2,1,x\n");
  EXPECT_EQ(run("evaluate line.model d.csv"), 65);
  EXPECT_TRUE(said("d.csv:2: the target 'x' is not a finite number"));
}

TEST_F(model_commands, targets_that_training_would_refuse_are_refused) {
  folder.write("d.csv", "a,b,y\n1,0,2\n0,0,0\n0,0,-2\n");
  for (const auto* const loss : {"poisson", "gamma"}) {
    write_model("deviance.model", 1, {0, 0, 0},
                common_with({{"target", R"(["y"])"}, {"loss", loss}}));
    EXPECT_EQ(run("evaluate deviance.model d.csv"), 65) << loss;
    EXPECT_TRUE(said(std::string{"d.csv:"} + (loss[0] == 'p' ? "4" : "3")));
    EXPECT_TRUE(said("needs targets"));
  }
}

TEST_F(model_commands, columns_that_are_not_the_models_are_listed) {
  folder.write("d.csv", "id,a,c,answer\n7,2,1,no\n");
  EXPECT_EQ(run("evaluate flower.model d.csv"), 65);
  EXPECT_TRUE(said("d.csv:1: the columns are not the model's features: missing 'b'\n"));
  folder.write("d.csv", "id,a,B,answer\n7,2,1,no\n");
  EXPECT_EQ(run("predict flower.model d.csv"), 65);
  EXPECT_TRUE(said("missing 'b'; the file has 'B'\n"));
  folder.write("d.csv", "1,2,3,4\n");
  EXPECT_EQ(run("predict flower.model d.csv"), 65);
  EXPECT_TRUE(said("the file has 4 columns; the model takes 2 features, and 1 target may follow"));
  folder.write("d.csv", "a,b\n2,1\n");
  EXPECT_EQ(run("evaluate flower.model d.csv"), 65);
  EXPECT_TRUE(said("no target"));
}

TEST_F(model_commands, prediction_decides_by_columns_and_says_so) {
  folder.write("with.csv", "answer,a,b\nno,2,1\n?,0,1\n");
  expect_prediction("flower.model with.csv", "answer\nno\nyes\n");
  EXPECT_EQ(err, "troupe: with.csv: 3 columns, 'answer' taken for the target\n");
  folder.write("without.csv", "2,1\n0,1\n");
  expect_prediction("flower.model without.csv", "answer\nno\nyes\n");
  EXPECT_EQ(
    err, "troupe: without.csv: 2 columns, all taken for features, none for a target, features by "
         "position: the file has no names of columns\n");
  folder.write("middle.csv", "2,no,1\n0,yes,1\n");
  expect_prediction("flower.model middle.csv --target 1 --header no", "answer\nno\nyes\n");
}

TEST_F(model_commands, columns_with_names_are_found_in_any_order_and_others_ignored) {
  folder.write("d.csv", "id,b,note,a\n7,1,some text,2\n8,1,,0\n");
  expect_prediction("flower.model d.csv", "answer\nno\nyes\n");
  EXPECT_EQ(err, "troupe: d.csv: 4 columns, 'id', 'note' ignored, none taken for a target\n");
  EXPECT_EQ(run("evaluate flower.model d.csv"), 65);
  EXPECT_TRUE(said("no column 'answer', and so no target"));
  folder.write("d.csv", "answer,b,id,a\nno,1,7,2\nno,1,8,0\n");
  ASSERT_EQ(run("evaluate flower.model d.csv --json"), 0) << err;
  EXPECT_EQ(nlohmann::json::parse(out)["accuracy"], 0.5);
  ASSERT_EQ(run("evaluate flower.model d.csv --target answer"), 0) << err;
  EXPECT_EQ(run("evaluate flower.model d.csv --target b"), 2);
  EXPECT_TRUE(said("'b' is a feature of the model"));
  folder.write("d.csv", "b,truth,a\n1,no,2\n1,no,0\n");
  ASSERT_EQ(run("evaluate flower.model d.csv --json"), 0) << "what is left is the target: " << err;
  EXPECT_EQ(nlohmann::json::parse(out)["accuracy"], 0.5);
}

TEST_F(model_commands, data_may_come_from_standard_input) {
  folder.write("d.csv", "a,b\n2,1\n0,1\n");
  expect_prediction("flower.model - <d.csv", "answer\nno\nyes\n");
}

// Trained on a file without a header whose columns 0 and 3 were left out; 5 was the target.
TEST_F(model_commands, columns_without_names_are_found_by_their_index_or_refused) {
  const auto with = [&](const char* features, const char* target) {
    write_model("bare.model", 1, {2, -1, 1},
                common_with({{"loss", "squared"}, {"features", features}, {"target", target}}));
  };
  with(R"(["1","2"])", R"(["5"])");
  folder.write("all.csv", "9,1,0,9,9,3\n9,1,1,9,9,2\n");
  folder.write("no_target.csv", "9,1,0,9\n9,1,1,9\n");
  folder.write("features.csv", "1,0\n1,1\n");
  for (const std::string file : {"all.csv", "no_target.csv", "features.csv"})
    expect_prediction("bare.model " + file, "prediction\n3\n2\n");
  EXPECT_EQ(run("evaluate bare.model no_target.csv"), 65);
  EXPECT_EQ(run("evaluate bare.model all.csv"), 0);
  folder.write("three.csv", "1,0,3\n1,1,2\n"); // features and target, or 0, 1 and 2
  for (const auto* command : {"predict", "evaluate"}) {
    EXPECT_EQ(run(std::string{command} + " bare.model three.csv"), 65) << out;
    EXPECT_TRUE(said("what training left out?") && said("--target last")) << err;
  }
  expect_prediction("bare.model three.csv --target last", "prediction\n3\n2\n");
  with(R"(["0","1"])", R"(["4"])"); // both ways the features are the same
  expect_prediction("bare.model three.csv", "prediction\n3\n2\n");
  EXPECT_EQ(run("evaluate bare.model three.csv"), 65);
  with(R"(["0","1"])", R"(["2"])");
  EXPECT_EQ(run("evaluate bare.model three.csv"), 0) << "nothing was left out: " << err;
}

TEST_F(model_commands, row_1_is_what_training_was_told) {
  auto metadata = common_with({{"loss", "squared"},
                               {"target", R"(["7"])"},
                               {"features", R"(["2","0"])"},
                               {"header", "yes"}}); // of numbers
  write_model("numbers.model", 1, {2, -1, 1}, metadata);
  folder.write("d.csv", "0,2\n0,1\n1,1\n");
  expect_prediction("numbers.model d.csv", "prediction\n3\n2\n");
  folder.write("d.csv", "5,6\n0,1\n");
  EXPECT_EQ(run("predict numbers.model d.csv"), 65) << "no row is lost: " << out;
  metadata.erase("header");
  metadata["format"] = "troupe-model-3";
  metadata["target"] = R"(["1"])";
  metadata["features"] = R"(["0=blue","0=red"])";
  metadata["columns"] =
    R"({"columns":[{"kind":"category","name":"0","categories":["blue","red"]}],)"
    R"("missing":"error","missing_cells":[]})";
  write_model("texts.model", 1, {2, -1, 1}, metadata);
  folder.write("d.csv", "red\nblue\nred\n");
  expect_prediction("texts.model d.csv", "prediction\n0\n3\n0\n");
  expect_prediction("texts.model d.csv --header yes", "prediction\n3\n0\n");
}

TEST_F(model_commands, prediction_looks_at_no_target) {
  folder.write("d.csv", "a,b,y\n1,0,\n1,1,nan\n1,0,1e400\n1,1,?\n");
  expect_prediction("line.model d.csv", "y\n3\n2\n3\n2\n");
  EXPECT_EQ(run("evaluate line.model d.csv"), 65);
  folder.write("d.csv", "1,0,\n1,1,2\n");
  ASSERT_EQ(run("predict line.model d.csv"), 0) << err;
  folder.write("d.csv", "0,1,y\n1,0,3\n1,1,2\n"); // a header that is hidden
  EXPECT_EQ(run("predict line.model d.csv"), 65) << out;
}

TEST_F(model_commands, predictions_that_are_no_finite_numbers_are_told) {
  folder.write("d.csv", "a,b,y\n3e38,0,1\n1,0,3\n");
  expect_prediction("line.model d.csv", "y\ninf\n3\n");
  EXPECT_TRUE(said("warning: predictions of 1 row are no finite numbers"));
  ASSERT_EQ(run("evaluate line.model d.csv --json"), 0) << err;
  EXPECT_TRUE(said("predictions of 1 row are"));
  write_model("nan.model", 1, {-INFINITY, INFINITY, 0},
              read_safetensors(folder.path("line.model")).metadata);
  folder.write("d.csv", "a,b\n1,1\n");
  expect_prediction("nan.model d.csv", "y\nnan\n");
  EXPECT_EQ(run("predict line.model d.csv"), 0);
  EXPECT_FALSE(said("warning"));
}

TEST_F(model_commands, probabilities_and_targets_are_written_with_all_their_digits) {
  folder.write("d.csv", "1,1\n0,1\n");
  ASSERT_EQ(run("predict flower.model d.csv --probabilities"), 0);
  std::istringstream lines{out};
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "answer,p(no),p(yes)");
  std::getline(lines, line);
  EXPECT_EQ(line, "no,0.5,0.5");
  std::getline(lines, line);
  EXPECT_NEAR(std::stod(line.substr(4)), 1 / (1 + std::exp(1.0)), 1e-7) << line;
  expect_prediction("line.model d.csv", "y\n2\n0\n");
  EXPECT_EQ(run("predict line.model d.csv --probabilities"), 2);
}

TEST_F(model_commands, npy_files_are_read_by_numpy) {
  folder.write("d.csv", "2,1\n0,1\n1,3\n");
  ASSERT_EQ(run("predict flower.model d.csv -o labels.npy"), 0) << err;
  EXPECT_TRUE(said("numbered from 0"));
  ASSERT_EQ(run("predict line.model d.csv -o targets.npy"), 0) << err;
  const auto bytes = folder.read("labels.npy");
  EXPECT_EQ(bytes.size(), 128u + 3 * 8);
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  if (std::system("/usr/bin/python3 -c 'import numpy' 2>/dev/null") != 0)
    GTEST_SKIP() << "needs NumPy: apt-get install python3-numpy";
  const auto script = "cd '" + folder.path() +
                      "' && /usr/bin/python3 -c \"import numpy as n; "
                      "assert n.load('labels.npy').tolist() == [0, 1, 1]; "
                      "assert n.load('targets.npy').tolist() == [[4.0], [0.0], [0.0]]\"";
  EXPECT_EQ(std::system(script.c_str()), 0);
}

TEST_F(model_commands, npy_files_have_the_values_of_classes_however_these_are_written) {
  auto metadata = read_safetensors(folder.path("flower.model")).metadata;
  folder.write("d.csv", "2,1\n0,1\n");
  for (const auto& [classes, first] :
       {std::pair{R"(["-1","+1"])", -1}, std::pair{R"(["2.0","1e1"])", 2}}) {
    metadata["classes"] = classes;
    write_model("signs.model", 2, {1, 0, 0, 1, 0, 0}, metadata);
    ASSERT_EQ(run("predict signs.model d.csv -o p.npy"), 0) << err;
    EXPECT_FALSE(said("numbered from 0"));
    EXPECT_EQ(folder.read("p.npy").substr(128, 1), std::string(1, static_cast<char>(first)));
    EXPECT_EQ(folder.read("p.npy").substr(136, 1), std::string(1, first < 0 ? '\1' : '\12'));
  }
}

TEST_F(model_commands, prediction_file_is_whole_or_not_there) {
  std::string rows;
  for (int i = 0; i < 10000; ++i)
    rows += std::to_string(i % 7) + "," + std::to_string(i % 5) + "\n";
  folder.write("long.csv", rows);
  ASSERT_EQ(run("predict line.model long.csv -o p.csv"), 0) << err;
  const auto written = folder.read("p.csv");
  EXPECT_EQ(std::count(written.begin(), written.end(), '\n'), 10001);
  EXPECT_TRUE(written.starts_with("y\n1\n2\n3\n4\n5\n11\n"));
  folder.write("long.csv", rows + "x,1\n");
  EXPECT_EQ(run("predict line.model long.csv -o p.csv"), 65);
  EXPECT_TRUE(said("long.csv:10001:1: "));
  EXPECT_EQ(folder.read("p.csv"), written);
  EXPECT_EQ(run("predict line.model long.csv -o p.txt"), 2);
  EXPECT_EQ(run("predict line.model long.csv -o none/p.csv"), 73);
}

TEST_F(model_commands, inspection_shows_shapes_norms_and_what_is_not_finite) {
  ASSERT_EQ(run("inspect line.model --json"), 0) << err;
  const auto object = nlohmann::json::parse(out);
  EXPECT_EQ(object["kind"], "neural-network");
  EXPECT_EQ(object["loss"], "squared");
  EXPECT_EQ(object["parameters"], 3);
  EXPECT_EQ(object["layers"][0], nlohmann::json::parse(R"({"name": "layers.0", "inputs": 2,
    "outputs": 1, "activation": "identity", "parameters": 3})"));
  EXPECT_NEAR(object["tensors"][0]["norm"], std::sqrt(5.0), 1e-15);
  EXPECT_EQ(object["tensors"][0]["minimum"], -1.0);
  EXPECT_EQ(object["tensors"][0]["maximum"], 2.0);
  EXPECT_EQ(object["tensors"][0]["shape"], nlohmann::json::parse("[1, 2]"));
  EXPECT_EQ(object["parameters_sha256"], read_safetensors(folder.path("line.model")).data_sha256);
  EXPECT_EQ(object["metadata"]["format"], "troupe-model-1");
  write_model("nan.model", 1, {NAN, 1, INFINITY},
              read_safetensors(folder.path("line.model")).metadata);
  ASSERT_EQ(run("inspect nan.model"), 0) << err;
  EXPECT_TRUE(test::contains(out, "layers.0.weight  1 x 2     1        1        1           1\n"));
}

TEST_F(model_commands, files_that_are_missing_or_no_models_are_told_apart) {
  folder.write("d.csv", "1,1\n");
  folder.write("text.model", "hello");
  for (const std::string command : {"inspect", "evaluate", "predict"}) {
    const std::string data = command == "inspect" ? "" : " d.csv";
    EXPECT_EQ(run(command + " none.model" + data), 66) << command;
    EXPECT_EQ(run(command + " text.model" + data), 65) << command;
    EXPECT_EQ(run(command), 2) << command;
  }
  EXPECT_EQ(run("predict line.model none.csv"), 66);
  EXPECT_EQ(run("evaluate line.model d.csv --header maybe"), 2);
  for (const std::string command :
       {"inspect none.model --json", "evaluate none.model d.csv --json"}) {
    EXPECT_EQ(run(command), 66);
    EXPECT_EQ(nlohmann::json::parse(out)["error"]["code"], "missing-input") << command;
  }
}

// evaluate and predict on every format that training reads: the same rows are the same figures.

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
    write_model("digit.model", 2, {1, 0, 0, 1, 0, 0},
                common_with({{"loss", "categorical-cross-entropy"},
                             {"classes", R"(["0","1"])"},
                             {"target", R"(["label"])"},
                             {"feature_mean", "3f800000 3f800000"},         // 1, 1
                             {"feature_deviation", "40000000 40000000"}})); // 2, 2
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
  EXPECT_TRUE(test::contains(refusal("digit.model features.npy", 65), "and so no target"));
  folder.write("wide.npy", npy("1, 4", {1, 2, 3, 4}));
  EXPECT_TRUE(test::contains(refusal("digit.model wide.npy", 65),
                             "the file has 4 columns; the model takes 2"));
  EXPECT_TRUE(
    test::contains(refusal("digit.model column.npy --labels-file labels.npy", 65), "3 columns"))
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

} // namespace
} // namespace troupe::model_commands_test
