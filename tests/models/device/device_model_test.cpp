// Models on devices have the bits of models on the processor: on each device that is here (OpenCL on the processor by
// Debian's pocl-opencl-icd will do).

#include "models/device/device_model.hpp"

#include "models/base/bit_hash.hpp"
#include "models/base/copy_values.hpp"
#include "models/base/random.hpp"
#include "models/device/device_queue.hpp"
#include "models/kinds/added_tables.hpp"
#include "models/kinds/chain_kind.hpp"
#include "models/layers/layer_options.hpp"
#include "models/math/moves.hpp"
#include "models/math/products.hpp"
#include "models/network/layer_chain.hpp"
#include "models/network/neural_network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <fstream>
#include <thread>

namespace troupe {
namespace {

std::vector<std::shared_ptr<device>> devices() {
  std::vector<std::shared_ptr<device>> result;
  for (const auto& x : devices_here())
    if (x.lacks.empty())
      result.push_back(open_device(x));
  return result;
}

/// Gradients of two slices, an evaluation and predictions, by two workspaces: each has its device.
std::string hash_of(const model& network, size_t rows, bool has_classes, bool is_weighted = false) {
  std::vector<float> parameters(network.layout().size()), gradient(parameters.size());
  network.initialize(3, parameters);
  bit_hash hash;
  workspace memories[2];
  for (uint64_t t = 0; t < 2; ++t) {
    auto& memory = memories[t];
    const auto count = rows - t;
    const auto features = made_values(5, t, count * network.feature_count(), -2, 2);
    const auto targets = made_values(6, t, count * network.output_count(), 0.1f, 2);
    std::vector<int32_t> labels(count);
    const auto classes = is_binary(network.loss()) ? 2 : network.output_count();
    for (size_t i = 0; i < count; ++i)
      labels[i] = static_cast<int32_t>((i * 7 + t) % classes);
    batch some;
    some.row_count = count;
    some.features = features;
    if (has_classes)
      some.labels = labels;
    else
      some.targets = targets;
    const auto weights = made_values(8, t, count, 0, 3);
    if (is_weighted)
      some.weights = weights;
    some.seed = 9;
    some.step = 4;
    some.first_row = 77;
    hash.add(network.gradient(parameters, some, gradient, memory).loss_sum);
    hash.add(gradient);
    // The same where gradients are added to others, piece by piece.
    std::vector<float> early(parameters.size(), -7), other(parameters.size());
    const auto room = network.room_there(t, early.size(), memory);
    const auto place = room.empty() ? std::span<float>{other} : room;
    const gradient_listener listener{[&](size_t element) { return element > early.size() / 2; },
                                     [&](size_t begin, size_t end, const batch_sums&) {
                                       copy_floats(place.subspan(begin, end - begin),
                                                   std::span{early}.subspan(begin, end - begin));
                                     }};
    network.gradient(parameters, some, place, memory, &listener);
    hash.add(early);
    if (!room.empty())
      copy_floats(room, other);
    const auto bits = [](float x) { return std::bit_cast<uint32_t>(x); };
    EXPECT_TRUE(std::ranges::equal(other, gradient, {}, bits, bits));
    for (size_t i = 0; i < early.size(); ++i)
      EXPECT_TRUE(early[i] == -7 || bits(early[i]) == bits(gradient[i]))
        << "not there yet when it was told of";
    hash.add(network.evaluate(parameters, some, memory).loss_sum);
    std::vector<float> out(count * network.prediction_count());
    network.predict(parameters, some, out, memory);
    hash.add(out);
    for (size_t i = 0; i < parameters.size(); ++i)
      parameters[i] -= 0.01f * gradient[i];
  }
  return hash.hex();
}

void expect_equal(const std::shared_ptr<const model>& network, size_t rows, bool has_classes = true,
                  bool is_weighted = false) {
  const auto expected = hash_of(*network, rows, has_classes, is_weighted);
  for (const auto& x : devices())
    EXPECT_EQ(hash_of(device_model{network, {x}}, rows, has_classes, is_weighted), expected);
  const auto all = devices();
  ASSERT_FALSE(all.empty()) << "no device: install pocl-opencl-icd";
  EXPECT_EQ(
    hash_of(device_model{network, {all.front(), all.back()}}, rows, has_classes, is_weighted),
    expected);
}

std::shared_ptr<const model> chain_of(row_shape shape, const char* layers, size_t outputs) {
  const auto features = size_of(shape);
  return make_chain({std::move(shape), layers}, features, outputs,
                    loss_kind::categorical_cross_entropy);
}

TEST(device_model, dense_networks_of_every_activation) {
  for (const auto& [kind, name] : name_table<activation_kind>::entries) {
    neural_network_options x;
    x.features = 61;
    x.outputs = 10;
    x.hidden = {70, 33};
    x.activation = kind;
    SCOPED_TRACE(name);
    expect_equal(std::make_shared<neural_network>(x), 45);
  }
}

TEST(device_model, dropout_many_terms_no_bias_and_parts) {
  neural_network_options x;
  x.features = 600;
  x.outputs = 3;
  x.hidden = {300, 20};
  x.activation = std::vector{activation_kind::gelu, activation_kind::relu};
  x.dropout = 0.3;
  expect_equal(std::make_shared<neural_network>(x), 300);
  x.bias = false;
  expect_equal(std::make_shared<neural_network>(x), 17);
  x.bias = true;
  x.parts = 4;
  expect_equal(std::make_shared<neural_network>(x), 17);
}

TEST(device_model, every_loss) {
  for (const auto& [kind, name] : name_table<loss_kind>::entries)
    for (const size_t hidden : {0, 20}) {
      SCOPED_TRACE(name);
      neural_network_options x;
      x.features = 40;
      x.outputs = is_binary(kind) ? 1 : 3;
      x.loss = kind;
      if (hidden > 0)
        x.hidden = {hidden};
      expect_equal(std::make_shared<neural_network>(x), 200, is_classification(kind));
      x.outputs = 1;
      if (!is_classification(kind))
        expect_equal(std::make_shared<neural_network>(x), 200, false);
    }
}

TEST(device_model, weights_of_rows_and_classes) {
  for (const auto& [kind, name] : name_table<loss_kind>::entries)
    for (const bool has_class_weights : {false, true}) {
      SCOPED_TRACE(name);
      neural_network_options x;
      x.features = 20;
      x.outputs = is_binary(kind) ? 1 : 3;
      x.hidden = {9};
      x.loss = kind;
      if (has_class_weights && is_classification(kind))
        x.loss.class_weights =
          is_binary(kind) ? std::vector{0.7f, 2.3f} : std::vector{0.3f, 1.1f, 2.7f};
      expect_equal(std::make_shared<neural_network>(x), 40, is_classification(kind), true);
      expect_equal(std::make_shared<neural_network>(x), 40, is_classification(kind), false);
      x.outputs = 1;
      if (!is_classification(kind))
        expect_equal(std::make_shared<neural_network>(x), 40, false, true);
    }
}

TEST(device_model, every_link) {
  for (const auto& [link, name] : name_table<link_kind>::entries) {
    SCOPED_TRACE(name);
    neural_network_options x;
    x.features = 20;
    x.outputs = 1;
    x.loss = loss_kind::binary_cross_entropy;
    x.loss.link = link;
    x.initialization_scale = 3; // far out, too
    x.initialization = initialization_kind::normal;
    expect_equal(std::make_shared<neural_network>(x), 300);
  }
}

TEST(device_model, labels_that_are_none_are_refused) {
  neural_network_options x;
  x.features = 4;
  x.outputs = 3;
  const device_model there{std::make_shared<neural_network>(x), {devices().at(0)}};
  std::vector<float> parameters(there.layout().size()), gradient(parameters.size());
  const std::vector<float> features(8);
  const std::vector<int32_t> labels{1, 3};
  batch rows;
  rows.row_count = 2;
  rows.features = features;
  rows.labels = labels;
  workspace memory;
  EXPECT_THROW(there.gradient(parameters, rows, gradient, memory), std::invalid_argument);
}

TEST(device_model, losses_and_activations_of_an_application) {
  activations().add("half-line", {1, ""},
                    {each_value([](float x) { return x <= 0 ? 0.5f * x : x; },
                                [](float x) { return x > 0 ? 1.0f : 0.5f; }),
                     true});
  losses().add("fourth-power", {1, ""}, {each_score([](double s, double y) {
                 const double e = s - y;
                 return loss_value{e * e * e * e, 4 * e * e * e};
               })});
  neural_network_options x;
  x.features = 12;
  x.outputs = 3;
  x.hidden = {300, 7};
  x.activation = *from_name<activation_kind>("half-line");
  x.loss = *from_name<loss_kind>("fourth-power");
  expect_equal(std::make_shared<neural_network>(x), 30, false);
  std::vector<chain_block> blocks(1);
  auto& steps = blocks[0].steps;
  steps.push_back({make_dense({.units = 300, .activation = "half-line"}, {row_shape{12}})});
  steps.push_back({make_activation({.function = "half-line"}, {row_shape{300}})});
  steps.push_back({make_dense({.units = 3}, {row_shape{300}})});
  expect_equal(
    std::make_shared<layer_chain>(12, 3, loss_kind::categorical_cross_entropy, std::move(blocks)),
    20);
}

class own_layer : public layer {
public:
  explicit own_layer(const row_shape& shape) : layer(shape, shape) {}
  void forward(const layer_call&, std::span<const float> x, std::span<float> y) const override {
    copy_values(x, y.begin());
  }
  void backward(const layer_call&, std::span<const float>, std::span<const float>,
                std::span<float> dy, std::span<float> dx) const override {
    copy_values(dy, dx.begin());
  }
};

TEST(device_model, what_devices_do_not_compute_is_named) {
  neural_network_options x;
  x.features = 12;
  x.outputs = 3;
  EXPECT_EQ(device_problem(neural_network{x}), "");
  x.sparse = true;
  EXPECT_TRUE(device_problem(neural_network{x}).starts_with("sparse rows are"));
  std::vector<chain_block> blocks(1);
  blocks[0].steps.push_back({std::make_unique<own_layer>(row_shape{12})});
  blocks[0].steps.push_back(
    {make_dense({.units = 3}, {row_shape{12}})}); // the other layers of a chain may be ours
  const auto chain =
    std::make_shared<layer_chain>(12, 3, loss_kind::categorical_cross_entropy, std::move(blocks));
  EXPECT_TRUE(device_problem(*chain).starts_with("a layer of an application's own is"));
  EXPECT_THROW((device_model{chain, {devices().at(0)}}), std::invalid_argument);
}

TEST(device_model, a_regression_with_a_scale_and_one_that_is_cut) {
  neural_network_options x;
  x.features = 12;
  x.outputs = 5;
  x.hidden = {16};
  x.loss = loss_kind::squared;
  x.loss.scale.kind = target_scale_kind::log;
  x.loss.scale.mean = {0.1f, 0.2f, 0.3f, 0.4f, 0.5f};
  x.loss.scale.deviation = {1, 2, 3, 4, 5};
  expect_equal(std::make_shared<neural_network>(x), 30, false);
  x.parts = 2;
  expect_equal(std::make_shared<neural_network>(x), 30, false);
}

TEST(device_model, convolutions_and_pools) {
  for (const char* padding : {"valid", "same"})
    for (const char* pool :
         {"pool size=2", "pool size=3 stride=1 over=max", "pool size=2 over=mean",
          "pool size=2 over=last", "pool over=mean", "pool over=max"}) {
      const auto layers =
        std::string{"convolution channels=5 kernel=[3,2] stride=2 activation=silu padding="} +
        padding + "\n" + pool + "\ndense units=7 activation=tanh\n";
      SCOPED_TRACE(layers);
      expect_equal(chain_of({11, 9, 3}, layers.c_str(), 4), 7);
    }
}

TEST(device_model, gradients_of_convolutions_add_groups_of_rows) {
  expect_equal(chain_of({28, 28, 1}, "convolution channels=5 kernel=[3,3]\npool size=2\n", 4), 60);
}

TEST(device_model, attention_norms_positions_and_residuals) {
  for (const char* causal : {"true", "false"}) {
    const auto layers =
      std::string{"positions\nresidual {\nlayer-norm\nattention heads=3 causal="} + causal +
      "\n}\nresidual {\nlayer-norm\ndense units=48 activation=gelu\ndropout rate=0.2\ndense "
      "units=24\n}\n"
      "layer-norm\nscale factor=0.5 offset=0.1\nactivation function=elu\n";
    SCOPED_TRACE(layers);
    expect_equal(chain_of({6, 24}, layers.c_str(), 5), 9);
  }
}

/// Of this process, in memory.
size_t resident_pages() {
  std::ifstream file{"/proc/self/statm"};
  size_t all = 0, resident = 0;
  file >> all >> resident;
  return resident;
}

// Each has a queue, and buffers whose addresses come from one table.
TEST(device_model, threads_share_a_device) {
  neural_network_options x;
  x.features = 61;
  x.outputs = 10;
  x.hidden = {70, 33};
  const auto network = std::make_shared<neural_network>(x);
  const device_model there{network, devices()};
  const auto expected = hash_of(*network, 45, true);
  std::array<std::vector<std::string>, 3> found;
  std::vector<std::jthread> threads;
  for (auto& own : found)
    threads.emplace_back([&] {
      for (int round = 0; round < 5; ++round)
        own.push_back(hash_of(there, 45, true));
    });
  threads.clear();
  for (const auto& own : found)
    EXPECT_EQ(own, std::vector<std::string>(5, expected));
}

TEST(device_model, ten_thousand_steps_leave_nothing_behind) {
  neural_network_options x;
  x.features = 9;
  x.outputs = 3;
  x.hidden = {8};
  x.dropout = 0.2;
  const auto network = std::make_shared<neural_network>(x);
  const device_model there{network, {devices().at(0)}};
  std::vector<float> parameters(network->layout().size()), gradient(parameters.size());
  network->initialize(3, parameters);
  const auto features = made_values(5, 1, 12 * 9, -2, 2);
  const std::vector<int32_t> labels(12, 1);
  batch rows;
  rows.row_count = 12;
  rows.features = features;
  rows.labels = labels;
  size_t before = 0;
  for (size_t step = 0; step < 10'000; ++step) {
    workspace memory; // a queue of its own: they end, too
    static workspace kept;
    there.gradient(parameters, rows, gradient, step % 10 == 0 ? memory : kept);
    if (step == 2'000)
      before = resident_pages();
  }
  EXPECT_LT(resident_pages(), before + 2'000) << "8 MB, of 8,000 steps";
}

TEST(device_products, of_any_shape_have_the_bits_of_the_processor) {
  const auto queue = device_queue::make(devices().at(0));
  const auto values = made_values(5, 1, 400'000, -2, 2);
  const auto from = queue->make_buffer(values.size());
  queue->upload(values, from.values());
  word_reader words{{7, random_purpose::split, 1}};
  for (int round = 0; round < 300; ++round) {
    const size_t m = words.below(80), n = words.below(80),
                 k = words.below(5) == 0 ? 0 : words.below(600);
    const size_t gap = words.below(3), batch = 1 + words.below(3), heads = 1 + words.below(3);
    const auto view = [&](size_t rows, size_t columns, const float* data) {
      const bool flips = words.below(2) == 1;
      const size_t lines = flips ? columns : rows, length = flips ? rows : columns;
      const products::matrix_view x{data + words.below(50), lines, length, length + gap};
      return flips ? x.transposed() : x;
    };
    const auto state = words; // the same on both sides
    std::vector<float> expected(batch * heads * m * (n + gap) + 1, 0.25f), found;
    const auto to = queue->make_buffer(expected.size());
    queue->upload(expected, to.values());
    const products::repetition all{
      batch, heads, {7, 3}, {2, 11}, {heads * m * (n + gap), m * (n + gap)}};
    const bool adds = round % 2 == 0;
    const auto multiply = [&](const float* data, float* out) {
      words = state;
      const auto a = view(m, k, data), b = view(k, n, data + 1000);
      products::multiply_each(a, b, {out, m, n, n + gap, adds}, all);
    };
    multiply(values.data(), expected.data());
    multiply(from.values().data(), to.values().data());
    found = queue->copy_of(to.values());
    ASSERT_EQ(std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)), 0)
      << m << " x " << n << " x " << k << ", round " << round;
  }
}

TEST(device_queue, values_of_another_place_are_refused) {
  const auto queue = device_queue::make(devices().at(0)),
             other = device_queue::make(devices().at(0));
  const auto mine = queue->make_buffer(100), theirs = other->make_buffer(100);
  std::vector<float> here(200);
  const auto too_long = std::span<float>{mine.values().data(), 10'000};
  for (const auto& wrong : {theirs.values(), std::span<float>{here}.first(100), too_long}) {
    EXPECT_THROW(queue->run("activate", 100, {wrong, uint64_t{0}}), device_error);
    EXPECT_THROW(queue->upload(std::vector<float>(wrong.size()), wrong), device_error);
    EXPECT_THROW(queue->copy_of(wrong), device_error);
  }
  EXPECT_THROW(queue->run("no such kernel", 100, {mine.values()}), device_error);
  EXPECT_THROW(queue->run("activate", 100, {mine.values()}), device_error)
    << "an argument is missing";
  EXPECT_EQ(device_of(mine.values()), queue.get());
  EXPECT_EQ(device_of(theirs.values()), other.get());
  EXPECT_EQ(device_of(here), nullptr);
  EXPECT_EQ(device_of(std::span<const float>{}), nullptr);
}

TEST(device_queue, addresses_are_free_again) {
  std::vector<std::shared_ptr<device_queue>> all;
  for (int i = 0; i < 300; ++i) {
    const auto queue = all.emplace_back(device_queue::make(devices().at(0)));
    std::vector<buffer> buffers;
    for (int k = 0; k < 500; ++k) { // in all more than there are at a time
      buffers.push_back(queue->make_buffer(10));
      EXPECT_EQ(device_of(buffers.back().values()), queue.get());
    }
  }
}

TEST(device_model, a_version_of_parameters_goes_there_once) {
  neural_network_options x;
  x.features = 4;
  x.outputs = 3;
  const device_model there{std::make_shared<neural_network>(x), {devices().at(0)}};
  std::vector<float> parameters(there.layout().size(), 0.25f);
  const auto features = made_values(5, 1, 8, -2, 2);
  const std::vector<int32_t> labels{1, 2};
  batch rows;
  rows.row_count = 2;
  rows.features = features;
  rows.labels = labels;
  workspace memory;
  const auto loss = [&](uint64_t version) {
    memory.set_version(version);
    return there.evaluate(parameters, rows, memory).loss_sum;
  };
  const auto first = loss(1);
  parameters[0] = 3;
  EXPECT_EQ(loss(1), first) << "the same number and place: the same parameters";
  const auto second = loss(2);
  EXPECT_NE(second, first);
  parameters[0] = 0.25f;
  EXPECT_EQ(loss(0), first) << "nothing is known of them";
  parameters[0] = 3;
  EXPECT_EQ(loss(0), second);
}

TEST(device_model, ranges_of_a_version_go_there_once) {
  sent_parameters sent{devices().at(0)};
  std::vector<float> values{1, 2, 3, 4, 5, 6};
  const auto of = [&](const index_range& elements, uint64_t version,
                      const element_window* window = nullptr) {
    const auto there = sent.of({values, window}, elements, version);
    return sent.queue()->copy_of(there.at(elements));
  };
  EXPECT_EQ(of({1, 3}, 1), (std::vector<float>{2, 3}));
  values[2] = 30;
  values[4] = 50;
  EXPECT_EQ(of({2, 6}, 1), (std::vector<float>{30, 4, 50, 6}));
  EXPECT_EQ(of({1, 3}, 1), (std::vector<float>{2, 3})) << "it is there, beside the other";
  EXPECT_EQ(of({1, 3}, 2), (std::vector<float>{2, 30})) << "another version";
  values[1] = 20;
  const element_window window{{{0, 6}}};
  EXPECT_EQ(of({1, 3}, 2, &window), (std::vector<float>{20, 30}))
    << "other values, as far as is known";
  values[1] = 21;
  EXPECT_EQ(of({1, 3}, 0), (std::vector<float>{21, 30}));
  values[1] = 22;
  EXPECT_EQ(of({1, 3}, 0), (std::vector<float>{22, 30})) << "nothing is known";
  EXPECT_THROW(sent.of({values, &window}, {5, 8}, 3), std::out_of_range);
  EXPECT_EQ(of({1, 3}, 3, &window), (std::vector<float>{22, 30}));
}

TEST(device_model, embeddings_of_codes_and_of_what_is_none) {
  expect_equal(chain_of({9}, "embedding categories=2 width=6\npositions\npool over=mean\n", 4), 8);
}

TEST(device_model, frozen_elements_have_no_gradient) {
  neural_network_options x;
  x.features = 10;
  x.outputs = 4;
  x.hidden = {8};
  const auto network = std::make_shared<neural_network>(x);
  network->freeze({{0, 50}, {80, 90}});
  expect_equal(network, 12);
}

} // namespace
} // namespace troupe
