#include "coordinators/parallel/boundary_tensors.hpp"

#include "models/losses/split_loss.hpp"
#include "models/segments/segment_chain.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace troupe {

namespace {

// Fields of a part, from the lowest bit on.
constexpr unsigned way_shift = 1;
constexpr unsigned boundary_shift = 3;
constexpr unsigned item_shift = 19;
constexpr unsigned evaluates_shift = 63;

constexpr uint64_t field(uint64_t number, unsigned shift, unsigned end) {
  return number >> shift & ((uint64_t{1} << (end - shift)) - 1);
}

} // namespace

tensor_note note_of(const batch_sums& sums) {
  return {.facts = {std::bit_cast<uint64_t>(sums.loss_sum), sums.sample_count, sums.correct_count,
                    std::bit_cast<uint64_t>(sums.squared_error_sum)}};
}

batch_sums sums_of(const tensor_note& note) {
  return {std::bit_cast<double>(note.facts[0]), note.facts[1], note.facts[2],
          std::bit_cast<double>(note.facts[3])};
}

boundary_tensors::boundary_tensors(std::shared_ptr<const model> network,
                                   const std::vector<partition>& group)
  : network_(std::move(network)),
    routes_(group, network_->chain().segments(), network_->chain().part_count()) {}

// ---- Names ----

uint64_t boundary_tensors::part_of(const boundary_name& name, bool is_complete) {
  return uint64_t{is_complete} | static_cast<uint64_t>(name.way) << way_shift |
         uint64_t{name.boundary} << boundary_shift | uint64_t{name.item} << item_shift |
         uint64_t{name.evaluates} << evaluates_shift;
}

boundary_name boundary_tensors::name_of(uint64_t version, uint64_t part) {
  return {version, part >> evaluates_shift != 0,
          static_cast<size_t>(field(part, item_shift, evaluates_shift)),
          static_cast<size_t>(field(part, boundary_shift, item_shift)),
          static_cast<boundary_way>(field(part, way_shift, boundary_shift))};
}

size_t boundary_tensors::width_of(const boundary_name& name) const {
  return name.way == boundary_way::figures ? figure_words(network_->loss_with_constants().kind)
                                           : network_->chain().out_width(name.boundary);
}

index_range boundary_tensors::elements_of(const boundary_name& name,
                                          const index_range& rows) const {
  const auto width = width_of(name);
  return width == 0 ? index_range{0, 1} : index_range{rows.begin * width, rows.end * width};
}

kept_tensor boundary_tensors::tensor_of(uint64_t term, const boundary_piece& piece) const {
  static const buffer nothing{1};
  const auto elements = elements_of(piece.name, piece.rows);
  return {.of = {tensor_kind::boundary, term, piece.name.version,
                 piece.is_complete ? only_leaf : piece.parts,
                 part_of(piece.name, piece.is_complete)},
          .first_element = elements.begin,
          .values = piece.values.size() > 0 ? piece.values : float_view{nothing, 0, 1},
          .note = note_of(piece.sums),
          .haste = urgency::boundary};
}

boundary_piece boundary_tensors::piece_of(const needed_boundary& what,
                                          const tensor_arrived& news) const {
  const bool has_values = width_of(what.name) > 0;
  return {what.name,
          what.is_complete,
          what.is_complete ? tree_node{} : news.of.node,
          what.rows,
          has_values ? news.values : float_view{},
          sums_of(news.note)};
}

// ---- Needs ----

std::vector<needed_boundary> boundary_tensors::needs(size_t member, uint64_t version,
                                                     const boundary_item& item) const {
  std::vector<needed_boundary> result;
  const auto& chain = network_->chain();
  const auto last = chain.size() - 1;
  for (size_t k = 0; k <= last; ++k) {
    boundary_name name{version, item.evaluates, item.item, k, boundary_way::forward};
    if (k == last && chain.splits_scores()) {
      name.way = boundary_way::figures;
      add_figures(member, name, item.row_count, result);
      continue;
    }
    add_sums(member, name, item.row_count, result);
    add_complete(member, name, item.row_count, result);
    name.way = boundary_way::backward;
    if (k == last || item.evaluates)
      continue;
    add_sums(member, name, item.row_count, result);
    add_complete(member, name, item.row_count, result);
  }
  return result;
}

void boundary_tensors::add_parts(size_t k, size_t member, needed_boundary& what) const {
  const auto& parts = routes_.group()[member].parts;
  for (auto t = parts.begin; t < parts.end; ++t) {
    if (!network_->chain().exists(k, t))
      continue;
    auto& sources = what.sources;
    if (!sources.empty() && sources.back().member == member && sources.back().leaves.end == t)
      ++sources.back().leaves.end;
    else
      sources.push_back({member, {t, t + 1}});
  }
}

void boundary_tensors::add_sums(size_t member, const boundary_name& name, size_t row_count,
                                std::vector<needed_boundary>& out) const {
  const auto& route = routes_.route(name.boundary, name.way);
  if (!route.exchanges() || std::ranges::find(route.makers, member) == route.makers.end())
    return;
  needed_boundary what{name, false, routes_.rows_of(route, member, row_count), {}, 1, {}};
  what.elements = elements_of(name, what.rows);
  what.leaf_count = network_->chain().part_count();
  for (const auto maker : route.makers)
    if (maker != member)
      add_parts(name.way == boundary_way::forward ? name.boundary : name.boundary + 1, maker, what);
  if (!what.rows.empty() && !what.sources.empty())
    out.push_back(std::move(what));
}

void boundary_tensors::add_complete(size_t member, const boundary_name& name, size_t row_count,
                                    std::vector<needed_boundary>& out) const {
  const auto& route = routes_.route(name.boundary, name.way);
  for (const auto maker : route.makers) {
    const auto receivers = routes_.receivers(route, maker);
    const auto rows = routes_.rows_of(route, maker, row_count);
    if (!rows.empty() && std::ranges::find(receivers, member) != receivers.end())
      out.push_back({name, true, rows, elements_of(name, rows), 1, {{maker, only_leaf}}});
  }
}

void boundary_tensors::add_figures(size_t member, const boundary_name& name, size_t row_count,
                                   std::vector<needed_boundary>& out) const {
  const auto& route = routes_.route(name.boundary, name.way);
  if (std::ranges::find(route.takers, member) == route.takers.end())
    return;
  needed_boundary what{name, false, {0, row_count}, {}, network_->chain().part_count(), {}};
  what.elements = elements_of(name, what.rows);
  for (const auto maker : route.makers)
    if (maker != member)
      add_parts(name.boundary, maker, what);
  if (!what.sources.empty())
    out.push_back(std::move(what));
}

} // namespace troupe
