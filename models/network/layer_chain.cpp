#include "models/network/layer_chain.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace troupe {

namespace {

std::vector<layer_tensor> tensors_of(const std::vector<chain_block>& blocks) {
  std::vector<layer_tensor> result;
  size_t number = 0;
  for (const auto& block : blocks)
    for (const auto& step : block.steps) {
      for (size_t i = 0; step.does && i < step.does->tensors().size(); ++i) {
        result.push_back(step.does->tensors()[i]);
        result.back().name = "layers." + std::to_string(number) + '.' + result.back().name;
      }
      ++number;
    }
  return result;
}

size_t checked(size_t parts) {
  if (parts == 0 || parts > part_count_max)
    throw std::invalid_argument("chain of layers: the parts must be 1 to " +
                                std::to_string(part_count_max));
  return parts;
}

} // namespace

layer_chain::layer_chain(size_t feature_count, size_t output_count, loss_options loss,
                         std::vector<chain_block> blocks, size_t parts)
  : chained_model(feature_count, output_count, std::move(loss)),
    tensors_(tensors_of(blocks)),
    chain_(std::move(blocks), feature_count, checked(parts)) {
  if (const auto scores = chain_.out_width(chain_.size() - 1); scores != output_count)
    throw std::invalid_argument("chain of layers: " + std::to_string(scores) +
                                " scores of a row, not " + std::to_string(output_count));
  for (const auto& tensor : tensors_)
    layout_.add(tensor.name, tensor.shape);
  if (layout_.size() == 0)
    throw std::invalid_argument("chain of layers: none of them has parameters");
  if (parts > 1)
    layout_.set_pieces(chain_.pieces());
}

void layer_chain::do_initialize(uint64_t seed, const index_range& elements,
                                std::span<float> out) const {
  if (elements.size() != out.size())
    throw std::invalid_argument("chain of layers: expected " + std::to_string(elements.size()) +
                                " parameters, got " + std::to_string(out.size()));
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const auto& made = tensors_[i];
    initialization_request request{
      seed, static_cast<uint32_t>(i), made.inputs, made.outputs, made.scale, 0};
    layout_.for_each_run(layout_.tensors()[i], [&](size_t element, size_t place, size_t count) {
      const auto begin = std::max(place, elements.begin);
      const auto end = std::min(place + count, elements.end);
      if (begin >= end)
        return;
      const auto here = out.subspan(begin - elements.begin, end - begin);
      request.first = element + begin - place;
      if (made.initial == initialization_kind::zero)
        std::ranges::fill(here, made.constant);
      else
        troupe::initialize(made.initial, request, here);
    });
  }
}

} // namespace troupe
