#include "models/network/layer_chain.hpp"

#include "models/layers/dense.hpp"
#include "models/math/moves.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace troupe {

namespace {

// A segment's slots: rows and derivatives behind it, what its runs read, what they give where rows carry
// more; then of each part its gradient and its run's own.
enum slot : size_t { rows_behind, derivative, entered, plain, own_count };

/// Behind all segments': derivatives by what is read, then what runs share (layer_run.hpp).
enum slot_behind : size_t { read_derivative, run_slots, behind_count = run_slots + shared_slots };

layout_piece whole_piece(size_t tensor, const std::vector<size_t>& shape) {
  const auto size = size_of(shape);
  const auto columns = shape.size() > 1 ? shape.back() : 1;
  return {tensor, {0, size / columns}, {0, columns}, 0};
}

/// Takes blocks, makes segments.
class segment_maker {
public:
  segment_maker(size_t feature_count, size_t part_count)
    : width_(feature_count), part_count_(part_count) {}

  void add(chain_block block) {
    const auto pair = part_count_ > 1 ? pair_of(block) : std::nullopt;
    if (!pair)
      return add_whole(std::move(block.steps), false);
    const auto end = block.steps.size() - 1; // the step that adds
    std::vector<chain_step> before;
    for (size_t i = 0; i < *pair; ++i)
      before.push_back(std::move(block.steps[i]));
    const bool carries = !before.empty();
    if (carries)
      add_whole(std::move(before), true);
    add_pair({block.steps.data() + *pair, end - *pair}, carries);
  }

  std::vector<run_segment> take() { return std::move(made_); }

private:
  /// Where the pair of a residual block begins, whose last step adds what the block reads.
  static std::optional<size_t> pair_of(const chain_block& block) {
    const auto& steps = block.steps;
    const auto has = [&](size_t i, part_way way) {
      return steps[i].does && steps[i].does->has_parts(way);
    };
    if (steps.size() < 2 || steps.back().does || steps.back().adds != 0)
      return std::nullopt;
    const auto last = steps.size() - 2;
    for (size_t i = 0; i <= last; ++i) // a block within would pass by what is before the pair
      if (!steps[i].does)
        return std::nullopt;
    if (has(last, part_way::alone))
      return last;
    const bool is_pair =
      last > 0 && has(last - 1, part_way::outputs) && has(last, part_way::inputs);
    return is_pair ? std::optional{last - 1} : std::nullopt;
  }

  void add_whole(std::vector<chain_step> steps, bool carries) {
    run_segment made;
    const auto count = steps.size();
    for (const auto& step : steps)
      for (size_t i = 0; step.does && i < step.does->tensors().size(); ++i)
        put(made, 0, whole_piece(next_tensor_++, step.does->tensors()[i].shape));
    made.runs.resize(part_count_);
    made.runs[0].emplace(std::move(steps), next_step_, width_);
    made.carries = carries;
    const auto out = made.runs[0]->output_size() + (carries ? width_ : 0);
    finish(std::move(made), count, out, layer_cut::none);
  }

  /// Adds a segment whose parts are summed, and x to the sum.
  void add_pair(std::span<const chain_step> steps, bool reads_carried) {
    const auto read_width = steps.front().does->input_size();
    run_segment made;
    made.passes = true;
    made.reads_carried = reads_carried;
    made.read_width = read_width;
    const auto out = reads_carried ? width_ - read_width : width_;
    made.runs.resize(part_count_);
    for (size_t t = 0; t < part_count_; ++t) {
      std::vector<chain_step> own;
      auto tensor = next_tensor_;
      for (size_t i = 0; i < steps.size(); ++i) {
        auto part = steps[i].does->part(way_of(i, steps.size()), t, part_count_);
        if (!part.does)
          break;
        for (const auto& x : part.pieces)
          put(made, t, {tensor + x.tensor, x.rows, x.columns, 0});
        tensor += steps[i].does->tensors().size();
        own.push_back({std::move(part.does)});
      }
      if (own.size() == steps.size())
        made.runs[t].emplace(std::move(own), next_step_, read_width);
    }
    for (const auto& step : steps)
      next_tensor_ += step.does->tensors().size();
    const auto& bias = steps.back().does->tensors().back();
    if (bias.shape.size() == 1) {
      made.common_tensor = next_tensor_ - 1;
      made.facts.common_size = bias.shape.front();
    }
    finish(std::move(made), steps.size() + 1, out, layer_cut::inputs);
  }

  static part_way way_of(size_t i, size_t count) {
    return count == 1 ? part_way::alone : i == 0 ? part_way::outputs : part_way::inputs;
  }

  static void put(run_segment& made, size_t part, layout_piece piece) {
    made.pieces.push_back(piece);
    made.piece_parts.push_back(part);
  }

  void finish(run_segment made, size_t step_count, size_t out, layer_cut cut) {
    auto& facts = made.facts;
    facts.layers = {next_step_, step_count, cut};
    facts.in_width = width_;
    facts.out_width = out;
    for (const auto& run : made.runs)
      facts.part_sizes.push_back(run ? std::optional{run->parameter_count()} : std::nullopt);
    next_step_ += step_count;
    width_ = out;
    made_.push_back(std::move(made));
  }

  std::vector<run_segment> made_;
  size_t width_;
  size_t part_count_;
  size_t next_step_ = 0;
  size_t next_tensor_ = 0;
};

std::vector<run_segment> segments_of(std::vector<chain_block> blocks, size_t feature_count,
                                     size_t part_count) {
  if (blocks.empty())
    throw std::invalid_argument("chain of layers: there is none");
  segment_maker maker{feature_count, part_count};
  for (auto& block : blocks)
    maker.add(std::move(block));
  return maker.take();
}

std::vector<chain_segment> facts_of(const std::vector<run_segment>& made) {
  std::vector<chain_segment> result;
  for (const auto& one : made)
    result.push_back(one.facts);
  return result;
}

} // namespace

layer_segments::layer_segments(std::vector<chain_block> blocks, size_t feature_count,
                               size_t part_count)
  : layer_segments(segments_of(std::move(blocks), feature_count, part_count), part_count) {}

layer_segments::layer_segments(std::vector<run_segment> made, size_t part_count)
  : segment_chain(facts_of(made), part_count), made_(std::move(made)) {
  for (const auto& one : made_) {
    first_slots_.push_back(shared_slot_);
    shared_slot_ += own_count;
    for (const auto& run : one.runs)
      shared_slot_ += 1 + (run ? run->slot_count() : 0);
  }
  slot_count_ = shared_slot_ + behind_count;
}

std::vector<layout_piece> layer_segments::pieces() const {
  std::vector<layout_piece> result;
  const auto add = [&](layout_piece piece) {
    piece.offset = result.empty() ? 0 : result.back().offset + result.back().size();
    result.push_back(piece);
  };
  for (size_t t = 0; t < part_count(); ++t)
    for (const auto& one : made_)
      for (size_t i = 0; i < one.pieces.size(); ++i)
        if (one.piece_parts[i] == t)
          add(one.pieces[i]);
  for (const auto& one : made_)
    if (one.common_tensor)
      add({*one.common_tensor, {0, one.facts.common_size}, {0, 1}, 0});
  return result;
}

bool layer_segments::is_random() const {
  for (const auto& one : made_)
    for (const auto& run : one.runs)
      if (run && run->is_random())
        return true;
  return false;
}

uint64_t layer_segments::device_scratch(size_t rows) const {
  uint64_t result = 0;
  for (const auto& one : made_)
    for (const auto& run : one.runs)
      result = std::max(result, run ? run->device_scratch(rows) : 0);
  return result;
}

bool layer_segments::runs_on_devices() const {
  for (const auto& one : made_)
    for (const auto& run : one.runs)
      if (run && !run->runs_on_devices())
        return false;
  return true;
}

// ---- For plans ----

std::vector<size_t> layer_segments::layer_widths() const {
  std::vector<size_t> result;
  for (size_t k = 0; k < size(); ++k)
    result.push_back(out_width(k));
  return result;
}

std::vector<layer_cut> layer_segments::cuts_of(size_t k) const {
  return std::vector<layer_cut>(segment(k).layer_count, segment(k).cut);
}

uint64_t layer_segments::multiply_adds(size_t k, const index_range& parts) const {
  const uint64_t passes = k > 0 ? 2 : 1;
  if (segment(k).cut == layer_cut::none)
    return made_[k].runs[0]->multiply_adds() * (passes + (parts.contains(0) ? 1 : 0));
  uint64_t result = 0;
  for (auto t = parts.begin; t < parts.end; ++t)
    result += exists(k, t) ? made_[k].runs[t]->multiply_adds() * (passes + 1) : 0;
  return result;
}

uint64_t layer_segments::memory_floats(const index_range& some, size_t rows, size_t derived) const {
  uint64_t result = 0, widest = 0;
  for (auto k = some.begin > 0 ? some.begin - 1 : 0; k < some.end; ++k) {
    const bool is_loss = k + 1 == size();
    result += out_width(k) * (rows + (is_loss ? rows : derived));
    if (k < some.begin)
      continue;
    result += made_[k].carries || made_[k].reads_carried ? 2 * rows * in_width(k) : 0;
    for (const auto& run : made_[k].runs)
      if (run) {
        result += run->memory_floats(rows, derived) + run->parameter_count();
        widest = std::max<uint64_t>(widest, run->widest());
      }
  }
  return result + 3 * widest * derived;
}

// ---- Rows in memory ----

std::span<float> layer_segments::output(size_t k, const batch& rows, workspace& memory) const {
  return memory.slot(slot_of(k, rows_behind), rows.row_count * out_width(k));
}

std::span<float> layer_segments::output(size_t k, size_t, const batch& rows,
                                        workspace& memory) const {
  return output(k, rows, memory);
}

std::span<float> layer_segments::delta(size_t k, const batch& rows, workspace& memory) const {
  return memory.slot(slot_of(k, derivative), rows.row_count * out_width(k));
}

std::span<float> layer_segments::delta(size_t k, size_t, const batch& rows,
                                       workspace& memory) const {
  return delta(k, rows, memory);
}

std::span<const float> layer_segments::whole_scores(const batch& rows, workspace& memory) const {
  return output(size() - 1, rows, memory);
}

std::span<const float> layer_segments::input(size_t k, const batch& rows, workspace& memory) const {
  if (k == 0)
    return rows.features;
  if (made_[k].reads_carried)
    return memory.slot(slot_of(k, entered), rows.row_count * made_[k].read_width);
  return output(k - 1, rows, memory);
}

size_t layer_segments::run_slot(size_t k, size_t t) const {
  auto result = slot_of(k, own_count);
  for (size_t i = 0; i < t; ++i)
    result += 1 + (made_[k].runs[i] ? made_[k].runs[i]->slot_count() : 0);
  return result;
}

std::span<float> layer_segments::gradient_slot(size_t k, size_t t, workspace& memory) const {
  return memory.slot(run_slot(k, t), made_[k].runs[t]->parameter_count());
}

run_call layer_segments::call_of(size_t k, size_t t, const windowed_values& parameters,
                                 const batch& rows, bool trains, workspace& memory) const {
  return {parameters.at(tile(k, t)), rows, trains, memory, run_slot(k, t) + 1,
          shared_slot_ + run_slots};
}

// ---- Forward ----

void layer_segments::enter(size_t k, const batch& rows, bool, workspace& memory) const {
  if (!made_[k].reads_carried)
    return;
  const auto width = made_[k].read_width;
  copy_columns({output(k - 1, rows, memory), in_width(k), 0},
               {memory.slot(slot_of(k, entered), rows.row_count * width), width, 0}, width,
               rows.row_count);
}

void layer_segments::forward(size_t k, size_t t, const windowed_values& parameters,
                             const batch& rows, bool drops, workspace& memory,
                             std::span<float> out) const {
  const auto call = call_of(k, t, parameters, rows, drops, memory);
  const auto x = input(k, rows, memory);
  const auto& run = *made_[k].runs[t];
  if (!made_[k].carries)
    return run.forward(call, x, out);
  const auto width = run.output_size();
  const auto y = memory.slot(slot_of(k, plain), rows.row_count * width);
  run.forward(call, x, y);
  copy_columns({y, width, 0}, {out, out_width(k), 0}, width, rows.row_count);
  copy_columns({x, in_width(k), 0}, {out, out_width(k), width}, in_width(k), rows.row_count);
}

void layer_segments::finish(size_t k, size_t first_row, const windowed_values& parameters,
                            const batch& rows, workspace& memory, std::span<float> values) const {
  if (made_[k].facts.common_size > 0)
    add_bias_and_activate(activation_kind::identity, parameters.at(tile(k, part_count())), values);
  const auto width = out_width(k);
  const std::span<const float> before = k == 0 ? rows.features : output(k - 1, rows, memory);
  add_columns({before.subspan(first_row * in_width(k)), in_width(k), in_width(k) - width},
              {values, width, 0}, width, values.size() / width);
}

// ---- Backward ----

void layer_segments::backward(size_t k, size_t t, const windowed_values& parameters,
                              const batch& rows, workspace& memory, std::span<float> out) const {
  const auto& here = made_[k];
  const auto& run = *here.runs[t];
  const auto call = call_of(k, t, parameters, rows, true, memory);
  const auto x = input(k, rows, memory);
  const std::span<const float> behind = delta(k, rows, memory);
  const auto gradient_out = gradient_slot(k, t, memory);
  if (here.carries) {
    const auto width = run.output_size();
    const auto dy = memory.slot(slot_of(k, entered), rows.row_count * width);
    copy_columns({behind, out_width(k), 0}, {dy, width, 0}, width, rows.row_count);
    run.backward(call, x, memory.slot(slot_of(k, plain), dy.size()), dy, out, gradient_out);
    if (!out.empty())
      add_columns({behind, out_width(k), width}, {out, in_width(k), 0}, in_width(k),
                  rows.row_count);
    return;
  }
  // No later step reads a single part's share of a sum.
  const std::span<const float> y = here.passes ? behind : output(k, rows, memory);
  if (!here.reads_carried)
    return run.backward(call, x, y, behind, out, gradient_out);
  const auto width = here.read_width;
  const auto dx = memory.slot(shared_slot_ + read_derivative, rows.row_count * width);
  run.backward(call, x, y, behind, dx, gradient_out);
  fill_values(out, 0);
  copy_columns({dx, width, 0}, {out, in_width(k), 0}, width, rows.row_count);
}

void layer_segments::derive(size_t k, size_t first_row, const batch& rows, workspace& memory,
                            std::span<float> values) const {
  if (!made_[k].passes)
    return;
  const auto width = out_width(k);
  add_columns({delta(k, rows, memory).subspan(first_row * width), width, 0},
              {values, in_width(k), in_width(k) - width}, width, values.size() / in_width(k));
}

void layer_segments::gradient(size_t k, size_t t, const batch& rows, workspace& memory,
                              std::span<float> out) const {
  if (t == part_count())
    sum_columns(delta(k, rows, memory), out);
  else
    copy_floats(gradient_slot(k, t, memory), out);
}

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
