// Model files read back: what is right predicts, everything wrong is named.

#include "data/model_file/saved_model.hpp"

#include "data/model_file/safetensors.hpp"
#include "data/text/checksum.hpp"
#include "data/text/failure.hpp"
#include "models/network/neural_network.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/some_checkpoint.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <stdexcept>

namespace troupe::saved_model_test {
namespace {

// Two features, two hidden units, two classes; all by hand.
safetensors_file small_file() {
  safetensors_file file;
  file.layout.add("layers.0.weight", {2, 2});
  file.layout.add("layers.0.bias", {2});
  file.layout.add("layers.1.weight", {2, 2});
  file.layout.add("layers.1.bias", {2});
  file.values = {1, 0, 0, 1, 0, -1, 1, 0, 0, 1, 0, 0};
  file.metadata = {{"format", "troupe-model-1"},
                   {"kind", "neural-network"},
                   {"activation", "relu"},
                   {"loss", "categorical-cross-entropy"},
                   {"features", R"(["a","b"])"},
                   {"target", R"(["species"])"},
                   {"classes", R"(["no","yes"])"},
                   {"feature_mean", "3f800000 00000000"},       // 1, 0
                   {"feature_deviation", "40000000 3f800000"}}; // 2, 1
  return file;
}

safetensors_file regression_file(size_t rows) {
  safetensors_file file;
  file.layout.add("layers.0.weight", {1, rows});
  file.layout.add("layers.0.bias", {1});
  file.values.assign(rows + 1, 0.5f);
  file.metadata = {
    {"format", "troupe-model-1"}, {"kind", "neural-network"}, {"activation", "relu"},
    {"loss", "squared"},          {"features", "["},          {"target", R"(["y"])"}};
  for (size_t i = 0; i < rows; ++i)
    file.metadata["features"] += (i ? ",\"" : "\"") + std::to_string(i) + '"';
  file.metadata["features"] += "]";
  return file;
}

// What is said of a file after `change`.
template <class Change>
std::string complaint(Change change) {
  auto file = small_file();
  change(file);
  const auto problem =
    test::failure_of([&] { to_saved_model(std::move(file), "m.safetensors"); }, "accepted");
  if (problem.reason() != "accepted") {
    EXPECT_EQ(problem.code(), failure_code::bad_data);
    EXPECT_EQ(problem.where(), "m.safetensors");
  }
  return problem.reason();
}

std::string complaint_with(const std::string& key, const std::string& value) {
  return complaint([&](auto& file) { file.metadata[key] = value; });
}

// A model of sparse rows is the same function of rows that come dense.
TEST(saved_model, of_sparse_rows_predicts_both_forms) {
  auto file = small_file();
  file.metadata.erase("features");
  file.metadata.erase("feature_mean");
  file.metadata["rows"] = "sparse";
  const auto sparse = to_saved_model(std::move(file), "m.safetensors");
  file = small_file();
  file.metadata["feature_mean"] = "00000000 00000000";
  const auto dense = to_saved_model(std::move(file), "m.safetensors");
  EXPECT_TRUE(sparse.feature_names.empty());
  const std::array<float, 6> features{5, 3, 0, 2, 0, 0};
  std::array<float, 6> expected{}, by_dense{}, by_sparse{};
  predictor{dense}.predict(features, expected);
  predictor of_sparse{sparse};
  of_sparse.predict(features, by_dense);
  const sparse_matrix entries{{0, 2, 3, 3}, {0, 1, 1}, {5, 3, 2}};
  batch rows;
  rows.row_count = 3;
  rows.sparse = entries.rows(0, 3);
  of_sparse.predict(rows, by_sparse);
  EXPECT_EQ(by_dense, by_sparse);
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_FLOAT_EQ(expected[i], by_sparse[i]);
  EXPECT_THROW(predictor{dense}.predict(rows, by_sparse), std::invalid_argument);
  const std::vector<int32_t> labels{0, 1, 1};
  rows.labels = labels;
  auto whole = rows;
  whole.sparse = {};
  whole.features = features;
  EXPECT_EQ(of_sparse.evaluate(rows), of_sparse.evaluate(whole));
}

TEST(saved_model, of_sparse_rows_is_checked) {
  EXPECT_TRUE(test::contains(complaint_with("rows", "some"), "'rows' is 'some'"));
  EXPECT_TRUE(test::contains(complaint_with("hash_bits", "20"), "'hash_bits' is '20'"));
  EXPECT_TRUE(test::contains(complaint_with("hash_bits", "x"), "'hash_bits'"));
}

TEST(saved_model, of_a_text_has_classes_that_are_characters) {
  auto file = small_file();
  file.metadata["classes"] = R"(["\n","\u20ac"])";
  EXPECT_FALSE(to_saved_model(safetensors_file{file}, "m.safetensors").reads_text);
  file.metadata["input"] = "text";
  const auto model = to_saved_model(safetensors_file{file}, "m.safetensors");
  EXPECT_TRUE(model.reads_text);
  EXPECT_EQ(model.classes, (std::vector<std::string>{"\n", "\xe2\x82\xac"}));
  const auto said = [&](const std::string& input, const std::string& classes) {
    return complaint([&](auto& x) {
      x.metadata["input"] = input;
      x.metadata["classes"] = classes;
    });
  };
  for (const auto& reason : {said("text", R"(["no","yes"])"), said("text", R"(["a","a"])"),
                             said("text", R"(["","a"])"), said("sound", R"(["a","b"])")})
    EXPECT_TRUE(test::contains(reason, "'input'"));
}

TEST(saved_model, predicts_raw_rows_as_worked_by_hand) {
  const auto model = to_saved_model(small_file(), "m.safetensors");
  predictor predict{model};
  // (5, 3) is standardised to (2, 3); hidden units relu(2, 3 - 1) = (2, 2): both classes alike.
  // (5, 2) to (2, 2); hidden (2, 1): probability of the first 1 / (1 + e^-1).
  const std::array<float, 4> rows{5, 3, 5, 2};
  std::array<float, 4> out{};
  predict.predict(rows, out);
  EXPECT_FLOAT_EQ(out[0], 0.5f);
  EXPECT_NEAR(out[2], 1 / (1 + std::exp(-1.0)), 1e-7);
  EXPECT_NEAR(out[3], 1 - 1 / (1 + std::exp(-1.0)), 1e-7);
  EXPECT_EQ(decided_class(std::span{out}.first(2), {}), 0u) << "the first of equals";
  EXPECT_EQ(model.classes, (std::vector<std::string>{"no", "yes"}));
}

TEST(saved_model, evaluation_sums_losses_of_raw_rows) {
  const auto model = to_saved_model(small_file(), "m.safetensors");
  predictor predict{model};
  const std::array<float, 4> rows{5, 3, 5, 2};
  const std::array<int32_t, 2> labels{1, 1};
  const auto sums = predict.evaluate({2, rows, labels, {}});
  EXPECT_EQ(sums.sample_count, 2u);
  EXPECT_EQ(sums.correct_count, 0u);
  EXPECT_NEAR(sums.loss_sum, std::log(2.0) + std::log1p(std::exp(1.0)), 1e-6);
}

TEST(saved_model, parts_of_whole_chunks_predict_the_bits_of_the_whole) {
  const auto model = to_saved_model(regression_file(37), "m.safetensors");
  predictor predict{model};
  const size_t width = 37, row_count = 3 * prediction_chunk_rows + 11;
  std::vector<float> rows(row_count * width);
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i] = std::sin(static_cast<float>(i)) * 1e3f;
  std::vector<float> whole(row_count), parts(row_count);
  predict.predict(rows, whole);
  for (size_t begin = 0; begin < row_count; begin += prediction_chunk_rows) {
    const auto count = std::min(prediction_chunk_rows, row_count - begin);
    predict.predict(std::span{rows}.subspan(begin * width, count * width),
                    std::span{parts}.subspan(begin, count));
  }
  EXPECT_EQ(whole, parts);
}

TEST(saved_model, rows_of_another_width_are_refused) {
  const auto model = to_saved_model(small_file(), "m.safetensors");
  predictor predict{model};
  std::array<float, 3> rows{};
  std::array<float, 4> out{};
  EXPECT_THROW(predict.predict(rows, out), std::invalid_argument);
  EXPECT_THROW(predict.predict(std::span{rows}.first(2), out), std::invalid_argument);
}

TEST(saved_model, metadata_that_are_missing_are_named) {
  for (const auto* key : {"format", "kind", "activation", "loss", "features", "target", "classes",
                          "feature_mean", "feature_deviation"})
    EXPECT_EQ(complaint([&](auto& file) { file.metadata.erase(key); }),
              "the metadata have no '" + std::string{key} + "'");
}

TEST(saved_model, unknown_words_are_shown_beside_the_known_ones) {
  EXPECT_EQ(
    complaint_with("format", "troupe-model-9"),
    "the metadata's 'format' is 'troupe-model-9' instead of 'troupe-model-1' to 'troupe-model-5'");
  EXPECT_TRUE(complaint_with("kind", "oracle")
                .starts_with("the metadata's 'kind' is 'oracle', which is none of: softmax"));
  EXPECT_TRUE(complaint_with("activation", "cube").starts_with("the metadata's 'activation' is"));
  EXPECT_TRUE(complaint_with("loss", "pride").starts_with("the metadata's 'loss' is 'pride'"));
  EXPECT_EQ(complaint_with("kind", "softmax-regression"),
            "a softmax-regression has one layer, this file has more");
}

TEST(saved_model, scales_and_thresholds_are_checked) {
  const auto scaled = [](const std::string& kind, const std::string& deviation) {
    auto file = regression_file(2);
    file.metadata["target_scale"] = kind;
    file.metadata["target_mean"] = "3f800000";
    file.metadata["target_deviation"] = deviation;
    return test::failure_of([&] { to_saved_model(std::move(file), "m"); }, "").reason();
  };
  EXPECT_TRUE(scaled("ln", "3f800000").starts_with("the metadata's 'target_scale' is 'ln', which"));
  EXPECT_EQ(scaled("log", "00000000"),
            "the metadata's 'target_deviation' holds a number that is not above 0");
  EXPECT_EQ(scaled("log", "3f800000 3f800000"),
            "the metadata's 'target_deviation' holds 2 numbers; the model has 1 targets");
  const auto classes = [](const char* key, const char* value) {
    auto file = small_file();
    file.metadata["threshold"] = "3e800000";
    file.metadata["threshold_class"] = "0";
    file.metadata[key] = value;
    return test::failure_of([&] { to_saved_model(std::move(file), "m"); }, "").reason();
  };
  EXPECT_EQ(classes("threshold_class", "2"),
            "the metadata's 'threshold_class' is '2', none of two classes");
  EXPECT_EQ(classes("threshold", "7fc00000"),
            "the metadata's 'threshold' holds no finite number at position 0");
  auto file = small_file();
  file.metadata["threshold"] = "3e800000"; // 1 / 4
  file.metadata["threshold_class"] = "0";
  const auto model = to_saved_model(std::move(file), "m");
  EXPECT_EQ(model.decide(std::vector{0.25f, 0.75f}), 0u);
  EXPECT_EQ(model.decide(std::vector{0.24f, 0.76f}), 1u);
}

TEST(saved_model, names_must_be_as_many_as_the_model_has) {
  EXPECT_EQ(complaint_with("features", R"(["a"])"),
            "the metadata's 'features' names 1, the model has 2 features");
  EXPECT_EQ(complaint_with("classes", R"(["a","b","c"])"),
            "the metadata's 'classes' names 3, the model has 2 classes");
  EXPECT_EQ(complaint_with("target", R"([])"),
            "the metadata's 'target' names 0, the model has 1 target");
  for (const auto* text : {"", "a", "{}", "[1]", "[\"a\"", "null"})
    EXPECT_EQ(complaint_with("features", text), "the metadata's 'features' is no list of names");
}

TEST(saved_model, standardisation_must_be_finite_and_complete) {
  EXPECT_EQ(complaint_with("feature_mean", "3f800000"),
            "the metadata's 'feature_mean' holds 1 numbers; the model has 2 features");
  for (const auto* text : {"7f800000 00000000", "3f80000 00000000", "3f800000,00000000", "x",
                           "3f800000  00000000", " 3f800000 00000000", "-3f80000 00000000"})
    EXPECT_TRUE(test::contains(complaint_with("feature_mean", text), "holds no finite number"));
  EXPECT_EQ(complaint_with("feature_deviation", "3f800000 00000000"),
            "the metadata's 'feature_deviation' holds a number that is not above 0");
}

TEST(saved_model, cuts_must_be_those_of_its_layers) {
  EXPECT_EQ(complaint_with("cuts", "2 outputs inputs"), "accepted");
  for (const auto* text :
       {"", "outputs inputs", "0 outputs inputs", "-1 outputs inputs", "65 none none", "2 outputs",
        "2 outputs none", "2 inputs inputs", "2 sideways none", "2 outputs inputs none"})
    EXPECT_TRUE(complaint_with("cuts", text).ends_with(", which does not cut the model's 2 layers"))
      << text;
}

TEST(saved_model, constants_of_the_loss_must_be_numbers_it_can_have) {
  for (const auto* text : {"", "1.0", "3ff00000", "3ff0000000000000 ", "0000000000000000",
                           "bff0000000000000", "7ff0000000000000", "7ff8000000000000"})
    EXPECT_TRUE(complaint_with("huber_threshold", text).ends_with(", no number above 0")) << text;
  EXPECT_EQ(complaint_with("huber_threshold", "3ff0000000000000"), "accepted");
  EXPECT_EQ(complaint_with("class_weights", "00000000 3f800000"), "accepted");
  EXPECT_EQ(complaint_with("class_weights", "3f800000"),
            "the metadata's 'class_weights' holds 1 numbers; the model has 2 classes");
  EXPECT_EQ(complaint_with("class_weights", "bf800000 3f800000"),
            "the metadata's 'class_weights' holds a number below 0");
  EXPECT_EQ(complaint([](auto& file) {
              file.metadata["loss"] = "squared";
              file.metadata["class_weights"] = "3f800000 3f800000";
            }),
            "the metadata have 'class_weights', but the loss is one for numbers");
}

TEST(saved_model, tensors_must_be_those_of_the_model) {
  const auto with = [](std::vector<std::pair<std::string, std::vector<size_t>>> tensors) {
    return complaint([&](auto& file) {
      file.layout = {};
      for (auto& [name, shape] : tensors)
        file.layout.add(name, shape);
      file.values.assign(file.layout.size(), 0);
    });
  };
  EXPECT_EQ(with({{"w", {2, 2}}}), "there is no tensor 'layers.0.weight'");
  EXPECT_EQ(with({{"layers.0.weight", {4}}}),
            "tensor 'layers.0.weight' has 1 extents instead of 2");
  EXPECT_EQ(with({{"layers.0.weight", {2, 2}}, {"layers.0.bias", {3}}}),
            "tensor 'layers.0.bias' has the shape [3] instead of [2]");
  EXPECT_EQ(with({{"layers.0.weight", {2, 2}}}), "accepted") << "a model without bias";
  EXPECT_EQ(
    with({{"layers.0.weight", {3, 2}}, {"layers.0.bias", {3}}, {"layers.1.weight", {2, 3}}}),
    "there is no tensor 'layers.1.bias'");
  EXPECT_EQ(with({{"layers.0.weight", {3, 2}}, {"layers.1.weight", {2, 4}}}),
            "tensor 'layers.1.weight' takes 4 inputs, the layer before it has 3 outputs");
  EXPECT_EQ(with({{"layers.0.bias", {2}}, {"layers.0.weight", {2, 2}}}),
            "tensor 'layers.0.weight' is not where the model has it");
  EXPECT_EQ(with({{"layers.0.weight", {2, 2}}, {"layers.0.bias", {2}}, {"extra", {1}}}),
            "tensor 'extra' is no part of the model");
}

TEST(saved_model, other_files_are_no_models) {
  const temporary_folder folder;
  EXPECT_THROW(read_model(folder.path("none.safetensors")), failure);
  EXPECT_THROW(read_model(folder.write("text.safetensors", "not a model at all")), failure);
  const auto file = small_file();
  write_safetensors(folder.path("good.safetensors"), file.layout, file.values, file.metadata);
  EXPECT_EQ(read_model(folder.path("good.safetensors")).metadata, file.metadata);
}

// A file with any bytes changed either is refused by name or is a model that predicts.
TEST(saved_model, damaged_files_are_refused_or_predict) {
  const temporary_folder folder;
  const auto file = small_file();
  write_safetensors(folder.path("good.safetensors"), file.layout, file.values, file.metadata);
  const auto good = folder.read("good.safetensors");
  std::mt19937 random{5};
  size_t refused = 0, read = 0;
  for (int round = 0; round < 500; ++round) {
    auto bytes = good;
    bytes[random() % bytes.size()] = static_cast<char>(random());
    try {
      const auto model = read_model(folder.write("bad.safetensors", bytes));
      std::vector<float> rows(2 * model.network->feature_count(), 0.5f);
      std::vector<float> out(2 * model.prediction_count());
      predictor{model}.predict(rows, out);
      ++read;
    } catch (const failure& problem) {
      ASSERT_EQ(problem.code(), failure_code::bad_data);
      ++refused;
    }
  }
  EXPECT_GT(refused, 100u);
  EXPECT_GT(read, 10u) << "changes of values and names are no damage";
}

TEST(class_finder, tells_classes_apart_as_training_did) {
  const class_finder numbers{{"1", "2.50"}};
  EXPECT_EQ(numbers.find("1.0"), 0u);
  EXPECT_EQ(numbers.find("2.5"), 1u);
  EXPECT_EQ(numbers.find("one"), std::nullopt);
  const class_finder texts{{"1", "one"}};
  EXPECT_EQ(texts.find("1"), 0u);
  EXPECT_EQ(texts.find("1.0"), std::nullopt) << "one class is text, so all are";
}

// Parts of a model in logical order are those of the whole, however small they are and however the
// model is cut.

parameter_layout layout_with(size_t parts) {
  neural_network_options x{7, 3, {9, 5, 11}};
  x.parts = parts;
  if (parts > 1)
    x.cuts = {layer_cut::outputs, layer_cut::inputs, layer_cut::outputs, layer_cut::inputs};
  return neural_network{x}.layout();
}

TEST(logical_parts, are_the_whole_in_logical_order) {
  for (const size_t parts : {1, 2, 4}) {
    const auto layout = layout_with(parts);
    const auto working = some_tensor(layout.size(), parts);
    std::vector<float> expected(layout.size());
    layout.to_logical(working.values(), expected);
    for (const size_t most : {1, 2, 5, 7, 20, 63, 1000}) {
      std::vector<float> found;
      for_each_logical_part(
        layout, working,
        [&](std::span<const float> part) {
          EXPECT_LE(part.size(), most);
          found.insert(found.end(), part.begin(), part.end());
        },
        most);
      EXPECT_EQ(found, expected) << parts << ' ' << most;
    }
  }
  EXPECT_THROW(for_each_logical_part(layout_with(1), some_tensor(3, 0), {}), std::invalid_argument);
}

TEST(logical_parts, make_the_file_and_the_digest) {
  const temporary_folder folder;
  const auto layout = layout_with(2);
  const auto working = some_tensor(layout.size(), 1);
  std::vector<float> logical(layout.size());
  layout.to_logical(working.values(), logical);
  const auto digest =
    write_safetensors(folder.path("m"), layout, stored_tensor{working}, {{"kind", "x"}});
  EXPECT_EQ(read_safetensors(folder.path("m")).values, logical);
  EXPECT_EQ(digest, sha256_hex(std::as_bytes(std::span(logical))));
  EXPECT_EQ(safetensors_data_sha256(layout, working), digest);
}

} // namespace
} // namespace troupe::saved_model_test
