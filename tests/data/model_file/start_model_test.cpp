#include "data/model_file/start_model.hpp"

#include "data/model_file/safetensors.hpp"
#include "data/text/failure.hpp"
#include "models/network/neural_network.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace troupe::start_model_test {
namespace {

template <class Value>
std::string bytes_of(const std::vector<Value>& values) {
  std::string result(values.size() * sizeof(Value), '\0');
  std::memcpy(result.data(), values.data(), result.size());
  return result;
}

/// Linear regression of two features.
neural_network network() {
  neural_network_options options;
  options.features = 2;
  options.outputs = 1;
  options.loss = loss_kind::squared;
  return neural_network{options};
}

class start_model_file : public testing::Test {
protected:
  /// Weight [1, 2] of this type and bytes, a bias of 1, and maybe more.
  std::string write(const std::string& dtype, const std::string& weight,
                    const std::string& more_entries = "", const std::string& more = "") {
    const auto end = std::to_string(weight.size());
    const auto behind = std::to_string(weight.size() + 4);
    const auto header = R"({"w":{"dtype":")" + dtype + R"(","shape":[1,2],"data_offsets":[0,)" +
                        end + R"(]},"b":{"dtype":"F32","shape":[1],"data_offsets":[)" + end + ',' +
                        behind + "]}" + more_entries + '}';
    const auto path = folder_.path("start.safetensors");
    std::ofstream file{path, std::ios::binary};
    file << bytes_of<uint64_t>({header.size()}) << header << weight << bytes_of<float>({1}) << more;
    return path;
  }

  static std::vector<float> parameters_of(const start_model& start) {
    const auto made = start.values_for(network(), {}, 0);
    const auto values = made->parameters.values();
    return {values.begin(), values.end()};
  }

  static std::vector<float> values_of(const std::string& path) {
    start_options options;
    options.start_from = path;
    options.start_names = {{"layers.0.bias", "b"}};
    return parameters_of(start_model{options});
  }

  temporary_folder folder_;
};

TEST_F(start_model_file, numbers_of_16_and_64_bits_become_those_of_32) {
  using values = std::vector<float>;
  EXPECT_EQ(values_of(write("F32", bytes_of<float>({0.1f, -2}))), (values{0.1f, -2, 1}));
  EXPECT_EQ(values_of(write("F64", bytes_of<double>({0.1, -2}))), (values{0.1f, -2, 1}));
  // 1.5, and the least above 0; half of 16 bits: sign, 5 of exponent, 10 of fraction.
  EXPECT_EQ(values_of(write("F16", bytes_of<uint16_t>({0x3e00, 0x8001}))),
            (values{1.5f, -0x1p-24f, 1}));
  EXPECT_EQ(values_of(write("F16", bytes_of<uint16_t>({0x7bff, 0x0400}))),
            (values{65504, 0x1p-14f, 1}));
  EXPECT_EQ(values_of(write("BF16", bytes_of<uint16_t>({0x3fc0, 0xc000}))), (values{1.5f, -2, 1}));
}

TEST_F(start_model_file, values_that_are_no_parameters_are_refused_by_tensor) {
  const auto refused = [&](const std::string& path) {
    const auto problem = test::failure_of([&] { values_of(path); }, "accepted");
    EXPECT_EQ(problem.where(), path);
    return problem.reason() + "; " + problem.hint();
  };
  const auto steps = R"(,"steps":{"dtype":"I64","shape":[],"data_offsets":[12,20]})";
  EXPECT_TRUE(
    test::contains(refused(write("F32", bytes_of<float>({1, 2}), steps, std::string(8, '\0'))),
                   "start_ignore = [\"steps\"]"));
  EXPECT_TRUE(test::contains(refused(write("F16", bytes_of<uint16_t>({0x7c00, 0}))),
                             "'w', value 0: not a finite"));
  EXPECT_TRUE(test::contains(refused(write("F64", bytes_of<double>({1, 1e300}))),
                             "'w', value 1: not a finite"));
  const auto pickled = folder_.path("model.pt");
  std::ofstream{pickled, std::ios::binary} << "PK\x03\x04 a zip";
  EXPECT_TRUE(test::contains(refused(pickled), "troupe.save_tensors"));
}

TEST_F(start_model_file, an_ignored_tensor_may_be_of_any_type) {
  start_options options;
  options.start_from = write("F32", bytes_of<float>({3, 4}),
                             R"(,"steps":{"dtype":"I64","shape":[],"data_offsets":[12,20]},)"
                             R"("st8":{"dtype":"F8_E5M2","shape":[3],"data_offsets":[20,23]})",
                             std::string(11, '\0'));
  options.start_ignore = {"st*"};
  options.start_names = {{"layers.0.bias", "b"}};
  EXPECT_EQ(parameters_of(start_model{options}), (std::vector<float>{3, 4, 1}));
}

/// Two features, scaled, and the classes no and yes.
saved_model classifier(const std::string& features = R"(["a","b"])") {
  safetensors_file file;
  file.layout.add("layers.0.weight", {2, 2});
  file.layout.add("layers.0.bias", {2});
  file.values = {1, 2, 3, 4, 5, 6};
  file.metadata = {{"format", "troupe-model-1"},
                   {"kind", "neural-network"},
                   {"activation", "relu"},
                   {"loss", "categorical-cross-entropy"},
                   {"features", features},
                   {"target", R"(["y"])"},
                   {"classes", R"(["no","yes"])"},
                   {"feature_mean", "3f800000 00000000"},       // 1, 0
                   {"feature_deviation", "40000000 3f800000"}}; // 2, 1
  return to_saved_model(std::move(file), "m.safetensors");
}

dataset rows(std::vector<std::string> names, std::vector<std::string> classes) {
  dataset result;
  result.row_count = 2;
  result.feature_count = names.size();
  result.features = {5, 3, 1, 2};
  result.feature_names = std::move(names);
  result.labels = {0, static_cast<int32_t>(classes.size()) - 1};
  result.classes = std::move(classes);
  result.target_names = {"y"};
  return result;
}

TEST(start_model, rows_are_read_as_before) {
  const start_model start{classifier(), {}};
  auto some = rows({"a", "b"}, {"yes"});
  start.reading().fit(some);
  EXPECT_EQ(some.labels, (std::vector<int32_t>{1, 1}))
    << "the model's number, though no is missing";
  EXPECT_EQ(some.classes, (std::vector<std::string>{"no", "yes"}));
  prepare_options options;
  options.standardize = false;
  start.reading().apply(options);
  const auto data = prepare(std::move(some), options);
  EXPECT_EQ(data.train.features, (std::vector<float>{2, 3, 0, 2}));
  EXPECT_EQ(data.features.mean, (std::vector<float>{1, 0}));
}

TEST(start_model, other_rows_are_refused_unless_the_layer_begins_fresh) {
  const auto refused = [](const dataset& given, const start_options& options = {}) {
    auto some = given;
    return test::failure_of(
             [&] {
               start_model{classifier(), options}.reading().fit(some);
             },
             "accepted")
      .reason();
  };
  EXPECT_TRUE(test::contains(refused(rows({"b", "a"}, {"no", "yes"})), "feature 0 is 'b'"));
  EXPECT_EQ(refused(rows({"0", "1"}, {"no", "yes"})), "accepted") << "numbers are no names";
  EXPECT_TRUE(test::contains(refused(rows({"a"}, {"no", "yes"})), "has 2 features"));
  EXPECT_TRUE(test::contains(refused(rows({"a", "b"}, {"no", "perhaps"})), "'perhaps' is none"));
  start_options fresh;
  fresh.start_fresh = {"layers.0.*"};
  EXPECT_EQ(refused(rows({"a", "c"}, {"no", "perhaps"}), fresh), "accepted");
}

TEST(start_model, identity_is_of_values_and_of_how_rows_are_read) {
  const auto source = classifier();
  const auto sha = [](const saved_model& of, uint64_t seed, const start_options& options = {}) {
    neural_network_options shape;
    shape.features = shape.outputs = 2;
    shape.loss = loss_kind::categorical_cross_entropy;
    return start_model{of, options}.values_for(neural_network{shape}, {}, seed)->sha256;
  };
  const auto usual = sha(source, 0);
  EXPECT_EQ(sha(source, 1), usual) << "no value is of the seed";
  start_options fresh;
  fresh.start_fresh = {"layers.0.bias"};
  fresh.start_ignore = {"layers.0.bias"};
  EXPECT_NE(sha(source, 0, fresh), usual);
  auto other = classifier();
  other.features.mean[0] = 2;
  EXPECT_NE(sha(other, 0), usual);
}

} // namespace
} // namespace troupe::start_model_test
