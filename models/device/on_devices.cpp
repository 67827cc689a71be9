#include "models/device/on_devices.hpp"

#include "models/base/bit_hash.hpp"
#include "models/device/device_model.hpp"
#include "models/kinds/chain_kind.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace troupe {

namespace {

struct tried_model {
  std::string what;
  row_shape shape;
  std::string layers;
  loss_options loss = loss_kind::categorical_cross_entropy;
  size_t outputs = 5;
};

// All layers, activations and losses; products of more terms than a block, results of more than a tile, gradients of
// several groups of rows, layers with one output.
std::vector<tried_model> tried_models() {
  std::vector<tried_model> result{
    {"dense layers",
     {300},
     "dense units=150 activation=gelu\ndropout rate=0.2\ndense units=40 activation=silu\n"
     "dense units=40 activation=tanh\ndense units=40 activation=sigmoid\n"
     "dense units=40 activation=relu\ndense units=40 activation=leaky-relu\n"
     "dense units=40 activation=elu\ndense units=40 activation=softplus\n"},
    {"convolution",
     {28, 28, 1},
     "convolution channels=5 kernel=[3,3] padding=same activation=silu\npool size=2 stride=1\n"
     "activation function=gelu\nconvolution channels=4 kernel=[2,3] stride=2\n"
     "pool size=3 stride=2 over=mean"},
    {"attention",
     {6, 24},
     "scale factor=0.5 offset=0.1\npositions\nresidual {\nlayer-norm\nattention heads=3 "
     "causal=true\n}\nattention heads=2\npool over=last"},
    {"embedding", {9}, "embedding categories=2 width=6\npool over=mean"}};
  const auto add = [&](const loss_options& loss, size_t outputs) {
    result.push_back({std::string{"the loss "} + std::string{name_of(loss.kind)},
                      {20},
                      "dense units=9 activation=tanh",
                      loss,
                      outputs});
  };
  for (const auto& [kind, name] : name_table<loss_kind>::entries)
    add(kind, is_binary(kind) ? 1 : 3);
  add(loss_kind::squared, 1);
  for (const auto& [link, name] : name_table<link_kind>::entries) {
    loss_options loss = loss_kind::binary_cross_entropy;
    loss.link = link;
    add(loss, 1);
  }
  return result;
}

std::string hash_of(const model& network) {
  constexpr size_t row_count = 130;
  std::vector<float> parameters(network.layout().size()), gradient(parameters.size());
  network.initialize(3, parameters);
  auto features = made_values(5, 1, row_count * network.feature_count(), -2, 2);
  for (size_t i = 0; i < features.size(); i += 5) // subnormal, and large
    features[i] *= i % 2 == 0 ? 0x1p-130f : 40.0f;
  const auto targets = made_values(6, 1, row_count * network.output_count(), 0.1f, 3);
  const auto weights = made_values(7, 1, row_count, 0, 2);
  std::vector<int32_t> labels(row_count);
  const auto classes = is_binary(network.loss()) ? 2 : network.output_count();
  for (size_t i = 0; i < row_count; ++i)
    labels[i] = static_cast<int32_t>(i * 7 % classes);
  batch rows;
  rows.row_count = row_count;
  rows.features = features;
  rows.weights = weights;
  if (is_classification(network.loss()))
    rows.labels = labels;
  else
    rows.targets = targets;
  rows.seed = 9;
  workspace memory;
  bit_hash hash;
  hash.add(network.gradient(parameters, rows, gradient, memory).loss_sum);
  hash.add(gradient);
  return hash.hex();
}

std::string find_problem(const device_facts& which) {
  if (!which.lacks.empty())
    return "lacks " + which.lacks;
  try {
    for (const auto& [what, shape, layers, loss, outputs] : tried_models()) {
      const std::shared_ptr<const model> network =
        make_chain({shape, layers}, size_of(shape), outputs, loss);
      if (hash_of(device_model{network, {open_device(which)}}) != hash_of(*network))
        return what + ": other bits than the processor's";
    }
  } catch (const device_error& problem) {
    return problem.what();
  }
  return {};
}

std::string name_of(const device_facts& x) {
  return "device " + std::to_string(x.number) + ", " + x.name;
}

} // namespace

std::string self_test(const device_facts& which) {
  static std::mutex guard;
  static std::map<size_t, std::string> known;
  const std::lock_guard lock{guard};
  const auto [place, is_new] = known.try_emplace(which.number);
  if (is_new)
    place->second = find_problem(which);
  return place->second;
}

std::vector<device_facts> devices_for(const model& network, std::string_view choice) {
  const bool may_be_none = choice == automatic_choice;
  const auto problem = device_problem(network);
  if (choice == processor_choice || (may_be_none && !problem.empty()))
    return {};
  if (!problem.empty())
    throw device_error(problem);
  auto found = devices_called(choice);
  if (may_be_none)
    std::erase_if(found, [](const auto& x) { return !self_test(x).empty(); });
  for (const auto& x : found)
    if (const auto wrong = self_test(x); !wrong.empty())
      throw device_error(name_of(x) + ": " + wrong);
  return found;
}

std::shared_ptr<const model> on_devices(std::shared_ptr<const model> network,
                                        std::string_view choice, const device_load& load) {
  auto found = devices_for(*network, choice);
  if (found.empty())
    return network;
  const auto problem_of = [&](const device_facts& x) -> std::string {
    const auto dealt = (load.parts + found.size() - 1) / found.size();
    const auto needed = std::max(load.bytes / load.parts * dealt, load.largest);
    if (needed > x.memory_bytes)
      return name_of(x) + ": what its replicas need is " + std::to_string(needed >> 20) +
             " MiB of its memory, and it has " + std::to_string(x.memory_bytes >> 20) + " MiB";
    if (load.at_a_time > x.allocation_bytes)
      return name_of(x) + ": parameters in one piece are " + std::to_string(load.at_a_time >> 20) +
             " MiB, and it gives " + std::to_string(x.allocation_bytes >> 20) + " MiB at a time";
    return {};
  };
  // With fewer devices each has more to do.
  while (choice == automatic_choice &&
         std::erase_if(found, [&](const auto& x) { return !problem_of(x).empty(); }) > 0) {
  }
  if (found.empty())
    return network;
  std::vector<std::shared_ptr<device>> opened;
  for (const auto& x : found) {
    if (const auto problem = problem_of(x); !problem.empty())
      throw device_error(problem);
    opened.push_back(open_device(x));
  }
  return std::make_shared<device_model>(std::move(network), std::move(opened), load.first);
}

} // namespace troupe
