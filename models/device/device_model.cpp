#include "models/device/device_model.hpp"

#include "models/base/require.hpp"
#include "models/base/saturating.hpp"
#include "models/device/device_queue.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace troupe {

namespace {

constexpr size_check require_size{"device"};

} // namespace

std::string device_problem(const model& network) {
  if (dynamic_cast<const chained_model*>(&network) == nullptr)
    return "a model of an application's own is computed on the processor";
  if (network.chain().reads_sparse())
    return "sparse rows are computed on the processor";
  if (!network.chain().runs_on_devices())
    return "a layer of an application's own is computed on the processor";
  return {};
}

uint64_t device_bytes(const model& network, size_t rows) {
  const auto& chain = network.chain();
  const auto floats = saturated_sum(
    saturated_sum(2 * network.layout().size(), saturated_product(rows, network.feature_count())),
    chain.memory_floats({0, chain.size()}, rows, rows) + chain.device_scratch(rows));
  return saturated_product(floats, sizeof(float));
}

device_model::device_model(std::shared_ptr<const model> does,
                           std::vector<std::shared_ptr<device>> devices)
  : model(does->feature_count(), does->output_count(), does->loss_with_constants()),
    does_(std::move(does)),
    places_(std::move(devices)),
    chain_(does_->chain(), places_) {
  if (const auto problem = device_problem(*does_); !problem.empty())
    throw std::invalid_argument(problem);
  layout_ = does_->layout();
  freeze(does_->frozen());
}

batch_sums device_model::do_gradient(std::span<const float> parameters, const batch& rows,
                                     std::span<float> gradient_out, workspace& memory,
                                     const gradient_listener* listener) const {
  require_size("gradients", layout_.size(), gradient_out.size());
  auto& here = places_.of(memory);
  const auto gradient = here.room(device_place::made, gradient_out.size());
  struct piece {
    size_t begin;
    size_t end;
    batch_sums sums;
    device_event arrives;
  };
  std::vector<piece> pieces;
  size_t told = 0;
  const auto tell_until = [&](size_t count) {
    for (; told < count; ++told) {
      here.queue().wait(pieces[told].arrives);
      if (listener)
        listener->on_piece(pieces[told].begin, pieces[told].end, pieces[told].sums);
    }
  };
  const auto begin_piece = [&](size_t begin, size_t end, const batch_sums& sums) {
    pieces.push_back({begin, end, sums,
                      here.queue().begin_download(gradient.subspan(begin, end - begin),
                                                  gradient_out.subspan(begin, end - begin))});
  };
  // The device computes the next piece while the one before comes.
  gradient_listener there;
  there.is_wanted_first = listener ? listener->is_wanted_first : [](size_t) { return true; };
  there.on_piece = [&](size_t begin, size_t end, const batch_sums& sums) {
    begin_piece(begin, end, sums);
    tell_until(pieces.size() - 1);
  };
  const auto sums = does_->gradient(here.sent_version(parameters, memory.version()),
                                    here.sent(rows), gradient, here.memory(), &there);
  tell_until(pieces.size());
  // Nobody tells of the last piece, or of any.
  std::ranges::sort(pieces, {}, &piece::begin);
  std::vector<index_range> rest;
  size_t next = 0;
  for (const auto& x : pieces) {
    if (next < x.begin)
      rest.push_back({next, x.begin});
    next = x.end;
  }
  rest.push_back({next, gradient_out.size()});
  for (const auto& x : rest)
    here.queue().download(gradient.subspan(x.begin, x.size()),
                          gradient_out.subspan(x.begin, x.size()));
  return sums;
}

batch_sums device_model::evaluate(std::span<const float> parameters, const batch& rows,
                                  workspace& memory) const {
  auto& here = places_.of(memory);
  return does_->evaluate(here.sent_version(parameters, memory.version()), here.sent(rows),
                         here.memory());
}

void device_model::do_predict(std::span<const float> parameters, const batch& rows,
                              std::span<float> out, workspace& memory) const {
  auto& here = places_.of(memory);
  does_->predict(here.sent_version(parameters, memory.version()), here.sent(rows), out,
                 here.memory());
}

} // namespace troupe
