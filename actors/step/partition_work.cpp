#include "actors/step/partition_work.hpp"

#include "coordinators/parallel/grid.hpp"
#include "models/math/moves.hpp"
#include "models/math/tree_accumulator.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace troupe {

namespace {

/// The evaluation of a version comes before its step.
std::pair<uint64_t, bool> phase_of(uint64_t version, bool evaluates) {
  return {version, !evaluates};
}

tile_rule_options rule_options(const partition_work_options& x) {
  const auto bound = in_flight_bound(x.schedule, stage_in(x.group, x.own));
  return {x.group[x.own].segments, bound, x.schedule, {}, x.by_segment};
}

std::vector<tile_window> bucket_windows(const partition_work_options& x) {
  const auto& own = x.group[x.own];
  if (!x.by_segment)
    return {{x.network->chain(), own}};
  std::vector<tile_window> result;
  for (auto k = own.segments.begin; k < own.segments.end; ++k)
    result.emplace_back(x.network->chain(), partition{own.slices, {k, k + 1}, own.parts});
  return result;
}

} // namespace

partition_work::partition_work(partition_work_options options)
  : options_(std::move(options)),
    routes_(options_.group, options_.network->chain().segments(),
            options_.network->chain().part_count()),
    windows_(bucket_windows(options_)),
    rule_(rule_options(options_)),
    parameters_(chain(), own()) {}

void partition_work::begin(tile_rule::work_kind kind, uint64_t version,
                           const std::vector<size_t>& items, const windowed_buffer& parameters,
                           item_rows rows) {
  kind_ = kind;
  version_ = version;
  rows_ = std::move(rows);
  abandon();
  parameters_.begin(kind, items.size(), parameters);
  rule_.begin(kind, items);
  unseen_ = items;
  for (const auto& piece : std::exchange(early_, {}))
    on_piece(piece);
}

void partition_work::abandon() {
  rule_.begin(kind_, {});
  for (auto& [item, x] : works_)
    idle_.push_back(std::move(x));
  works_.clear();
  unseen_.clear();
  parameters_.end();
}

partition_work::work& partition_work::work_of(size_t item) {
  if (const auto found = works_.find(item); found != works_.end())
    return *found->second;
  std::erase(unseen_, item);
  if (idle_.empty()) {
    idle_.push_back(std::make_unique<work>());
    if (options_.memory != nullptr)
      options_.network->share_parameters(idle_.back()->memory, *options_.memory);
  }
  auto& x = *works_.emplace(item, std::move(idle_.back())).first->second;
  idle_.pop_back();
  x.network = options_.network.get();
  x.item = item;
  x.memory.set_version(*version_ + 1);
  x.rows = options_.network->rows_there(rows_(item, x.reader), x.memory);
  x.boundaries.assign(routes_.boundary_count(), {});
  x.figures.clear();
  x.sums = {};
  x.has_sums = false;
  x.left = own().segments.size();
  x.unsent = 0;
  x.gradient = evaluates() || options_.by_segment ? buffer{} : pools_.acquire(window().size());
  return x;
}

void partition_work::on_piece(const boundary_piece& piece) {
  const auto phase = phase_of(piece.name.version, piece.name.evaluates);
  // When training ends at this version, its step is dropped and the version evaluated.
  const bool may_be_evaluated =
    version_ == piece.name.version && piece.name.evaluates && !evaluates();
  if (!version_ || phase > phase_of(*version_, evaluates()) || may_be_evaluated)
    return early_.push_back(piece);
  const auto item = piece.name.item;
  const bool is_open = works_.contains(item) || std::ranges::find(unseen_, item) != unseen_.end();
  if (phase < phase_of(*version_, evaluates()) || !is_open)
    return;
  auto& x = work_of(item);
  if (piece.name.way == boundary_way::figures) {
    x.figures.try_emplace(piece.parts.begin, reported_figures{piece.values, piece.sums});
    take_loss(x);
  } else {
    take(x, piece);
  }
  finish_if_done(x);
}

bool partition_work::compute_next() {
  const auto next = rule_.next(parameters_.missing());
  if (!next)
    return false;
  auto& x = work_of(next->item);
  if (next->way == tile_way::forward)
    forward(x, next->segment);
  else if (next->way == tile_way::backward)
    backward(x, next->segment);
  else
    gradient(x, next->segment);
  parameters_.on_computed(*next);
  x.left -= next->way == (evaluates() ? tile_way::forward : tile_way::gradient) ? 1 : 0;
  finish_if_done(x);
  return true;
}

void partition_work::finish_if_done(work& x) {
  const bool has_loss = own().segments.end == chain().size();
  const bool lacks_loss = evaluates() && has_loss && !x.has_sums;
  if (x.left > 0 || x.unsent > 0 || lacks_loss)
    return;
  const bool tells = evaluates() ? has_loss && own().parts.begin == 0 : !options_.by_segment;
  if (tells)
    finished_.push_back({x.item, x.sums, std::exchange(x.gradient, {})});
  const auto done = works_.find(x.item);
  idle_.push_back(std::move(done->second));
  works_.erase(done);
}

// ---- Tiles ----

template <class Compute>
bool partition_work::work::compute_to(std::span<float> out, const Compute& compute) {
  const auto room = network->room_there(0, out.size(), memory);
  if (room.empty())
    return compute(out);
  const bool is_made = compute(room);
  if (is_made)
    copy_floats(room, out);
  return is_made;
}

index_range partition_work::parts_of(size_t k) const {
  return chain().segment(k).cut == layer_cut::none ? index_range{0, 1} : own().parts;
}

void partition_work::forward(work& x, size_t k) {
  const bool drops = !evaluates();
  chain().enter(k, x.rows, drops, x.there());
  const auto compute = [&](size_t t, std::span<float> out) {
    chain().forward(k, t, x.there(parameters_.of(k), chain().tile(k, t)), x.rows, drops, x.there(),
                    out);
  };
  if (k + 1 < chain().size() || !chain().splits_scores())
    return make(x, k, k, boundary_way::forward, compute);
  for (auto t = own().parts.begin; t < own().parts.end; ++t)
    if (chain().exists(k, t))
      compute(t, chain().output(k, t, x.rows, x.there()));
  tell_figures(x);
}

void partition_work::backward(work& x, size_t k) {
  const auto compute = [&](size_t t, std::span<float> out) {
    chain().backward(k, t, x.there(parameters_.of(k), chain().tile(k, t)), x.rows, x.there(), out);
  };
  if (k > 0)
    return make(x, k, k - 1, boundary_way::backward, compute);
  for (auto t = parts_of(k).begin; t < parts_of(k).end; ++t)
    if (chain().exists(k, t))
      compute(t, {});
}

void partition_work::gradient(work& x, size_t k) {
  const auto bucket = options_.by_segment ? k - own().segments.begin : 0;
  if (options_.by_segment)
    x.gradient = buffer{window(bucket).size()}; // no pool: it would keep as much as the model
  for (const auto& tile : window(bucket).tiles())
    if (tile.segment == k) {
      const auto own = x.gradient.values().subspan(tile.place, tile.elements.size());
      x.compute_to(own, [&](std::span<float> out) {
        chain().gradient(k, tile.part, x.rows, x.there(), out);
        return true;
      });
      options_.network->clear_frozen(own, tile.elements.begin);
    }
  if (options_.by_segment)
    finished_.push_back({x.item, x.sums, std::exchange(x.gradient, {}), bucket, x.left == 1});
}

// ---- Boundaries ----

std::span<float> partition_work::rows_at(work& x, size_t boundary, boundary_way way) const {
  return way == boundary_way::forward ? chain().output(boundary, x.rows, x.there())
                                      : chain().delta(boundary, x.rows, x.there());
}

boundary_piece partition_work::piece_of(const work& x, size_t boundary, boundary_way way) const {
  boundary_piece result;
  result.name = {*version_, evaluates(), x.item, boundary, way};
  result.rows = {0, x.rows.row_count};
  // Only then: a faster member's backward piece may have set the sums before.
  if (way != boundary_way::forward)
    result.sums = x.sums;
  return result;
}

// Computes segment k's share of a boundary and sends its sums to the members that complete them.
template <class Compute>
void partition_work::make(work& x, size_t k, size_t boundary, boundary_way way,
                          const Compute& compute) {
  const auto& route = routes_.route(boundary, way);
  const auto target = rows_at(x, boundary, way);
  const auto own_rows = routes_.rows_of(route, options_.own, x.rows.row_count);
  const auto parts = parts_of(k);
  if (!route.exchanges()) {
    chain().add_parts(k, parts.begin, parts.end, target, x.there(), compute);
    return complete(x, boundary, way, route.stays() ? index_range{0, x.rows.row_count} : own_rows);
  }
  auto& state = x.state(boundary, way);
  state.is_made = true;
  x.unsent += own_rows.empty() ? 0 : 1;
  for (const auto& node : largest_nodes(chain().part_count(), parts)) {
    const auto sum = pools_.acquire(target.size());
    const bool has_units = x.compute_to(sum.values(), [&](std::span<float> out) {
      return chain().add_parts(k, node.begin, node.end, out, x.there(), compute);
    });
    if (!has_units)
      continue;
    auto piece = piece_of(x, boundary, way);
    piece.parts = node;
    const auto width = target.size() / x.rows.row_count;
    for (const auto maker : route.makers) {
      piece.rows = routes_.rows_of(route, maker, x.rows.row_count);
      piece.values = {sum, piece.rows.begin * width, piece.rows.size() * width};
      if (maker == options_.own)
        state.hold(node, piece.values);
      else if (!piece.rows.empty())
        send(maker, piece);
    }
  }
  complete_if_due(x, boundary, way);
}

void partition_work::boundary_state::hold(const tree_node& node, const float_view& sum) {
  const auto place = std::ranges::lower_bound(nodes, node);
  if (place != nodes.end() && *place == node)
    return;
  sums.insert(sums.begin() + (place - nodes.begin()), sum);
  nodes.insert(place, node);
}

void partition_work::take(work& x, const boundary_piece& piece) {
  const auto [boundary, way] = std::pair{piece.name.boundary, piece.name.way};
  const auto target = rows_at(x, boundary, way);
  const auto width = target.size() / x.rows.row_count;
  const auto& route = routes_.route(boundary, way);
  const auto own_rows = routes_.rows_of(route, options_.own, x.rows.row_count);
  if (piece.values.size() != piece.rows.size() * width || piece.rows.end > x.rows.row_count ||
      (!piece.is_complete && piece.rows != own_rows))
    throw std::invalid_argument("partition work: " + std::to_string(piece.values.size()) +
                                " values for rows of " + std::to_string(width));
  auto& state = x.state(boundary, way);
  if (!piece.is_complete) {
    state.hold(piece.parts, piece.values);
    return complete_if_due(x, boundary, way);
  }
  copy_floats(piece.values.values(),
              target.subspan(piece.rows.begin * width, piece.rows.size() * width));
  if (way == boundary_way::backward)
    x.sums = piece.sums;
  have_rows(x, boundary, way, piece.rows);
}

void partition_work::complete_if_due(work& x, size_t boundary, boundary_way way) {
  auto& state = x.state(boundary, way);
  const auto& route = routes_.route(boundary, way);
  const auto rows = routes_.rows_of(route, options_.own, x.rows.row_count);
  if (!state.is_made || rows.empty() || state.is_complete)
    return;
  const auto k = way == boundary_way::forward ? boundary : boundary + 1;
  const auto plan = plan_reduction(chain().part_count(), state.nodes,
                                   [&](size_t t) { return chain().exists(k, t); });
  if (!plan)
    return;
  std::vector<std::span<const float>> inputs;
  for (const auto& sum : state.sums)
    inputs.push_back(sum.values());
  const auto target = rows_at(x, boundary, way);
  const auto width = target.size() / x.rows.row_count;
  const auto place = target.subspan(rows.begin * width, rows.size() * width);
  const bool is_here = &x.there() == &x.memory;
  const auto sum = is_here ? buffer{} : pools_.acquire(place.size());
  reducer_.reduce(*plan, inputs, is_here ? place : sum.values());
  if (!is_here)
    copy_floats(sum.values(), place);
  state.is_complete = true;
  state.sums.clear();
  --x.unsent;
  complete(x, boundary, way, rows);
}

// The sums of these rows are in place: turns them into what the takers need, and sends them.
void partition_work::complete(work& x, size_t boundary, boundary_way way, const index_range& rows) {
  const auto target = rows_at(x, boundary, way);
  const auto width = target.size() / x.rows.row_count;
  const auto values = target.subspan(rows.begin * width, rows.size() * width);
  if (way == boundary_way::backward)
    chain().derive(boundary + 1, rows.begin, x.rows, x.there(), values);
  else if (chain().adds_parts(boundary))
    chain().finish(boundary, rows.begin,
                   x.there(parameters_.of(boundary), chain().tile(boundary, chain().part_count())),
                   x.rows, x.there(), values);
  const auto& route = routes_.route(boundary, way);
  const auto receivers = routes_.receivers(route, options_.own);
  if (!receivers.empty() && !rows.empty()) {
    const auto copy = pools_.acquire(values.size());
    copy_floats(values, copy.values());
    auto piece = piece_of(x, boundary, way);
    piece.is_complete = true;
    piece.rows = rows;
    piece.values = {copy, 0, copy.size()};
    for (const auto member : receivers)
      send(member, piece);
  }
  if (std::ranges::find(route.takers, options_.own) != route.takers.end())
    have_rows(x, boundary, way, rows);
}

void partition_work::have_rows(work& x, size_t boundary, boundary_way way,
                               const index_range& rows) {
  auto& state = x.state(boundary, way);
  const index_range all{0, x.rows.row_count};
  if (rows.empty() || state.rows.contains(all))
    return;
  state.rows.add(rows);
  if (!state.rows.contains(all))
    return;
  if (way == boundary_way::backward)
    rule_.on_input({x.item, boundary, tile_way::backward});
  else if (boundary + 1 < chain().size())
    rule_.on_input({x.item, boundary + 1, tile_way::forward});
  else
    on_loss(x, whole_loss(chain(), options_.network->loss_with_constants(), x.rows, x.there()));
}

// ---- Loss ----

void partition_work::tell_figures(work& x) {
  const auto last = chain().size() - 1;
  const auto& loss = options_.network->loss_with_constants();
  const auto words = x.rows.row_count * figure_words(loss.kind);
  for (auto t = own().parts.begin; t < own().parts.end; ++t) {
    if (!chain().exists(last, t))
      continue;
    const auto told = words > 0 ? pools_.acquire(words) : buffer{};
    auto piece = piece_of(x, last, boundary_way::figures);
    piece.parts = {t, t + 1};
    piece.sums = tell_loss(chain(), loss, t, x.rows, x.there(), told.values());
    piece.values = {told, 0, words};
    x.figures.try_emplace(t, reported_figures{piece.values, piece.sums});
    for (const auto member : routes_.route(last, boundary_way::figures).takers)
      if (member != options_.own)
        send(member, piece);
  }
  take_loss(x);
}

void partition_work::take_loss(work& x) {
  const auto last = chain().size() - 1;
  const auto parts = chain().part_count();
  const auto& loss = options_.network->loss_with_constants();
  std::vector<part_figures> figures(parts);
  for (size_t t = 0; t < parts; ++t) {
    if (!chain().exists(last, t))
      continue;
    const auto told = x.figures.find(t);
    if (told == x.figures.end() || x.has_sums)
      return;
    figures[t] = {chain().score_units(t), told->second.words.values()};
  }
  if (!is_classification(loss.kind))
    return on_loss(x, *sum_along_tree<batch_sums>(0, parts, [&](size_t t) {
                     const auto told = x.figures.find(t);
                     return told == x.figures.end() ? std::nullopt
                                                    : std::optional{told->second.sums};
                   }));
  batch_sums sums;
  for (auto t = own().parts.begin; t < own().parts.end; ++t)
    sums = settle_loss(chain(), loss, t, x.rows, x.there(), figures);
  on_loss(x, sums);
}

void partition_work::on_loss(work& x, const batch_sums& sums) {
  x.sums = sums;
  x.has_sums = true;
  if (!evaluates())
    rule_.on_input({x.item, chain().size() - 1, tile_way::backward});
}

void partition_work::send(size_t member, boundary_piece piece) {
  bytes_sent_ += piece.values.size() * sizeof(float);
  sent_.push_back({member, std::move(piece)});
}

partition_work::counts partition_work::counted() const {
  counts result{rule_.in_flight_peak(), works_.size() + idle_.size(), 0, 0, bytes_sent_};
  for (const auto& [item, x] : works_)
    result.workspace_bytes += x->memory.byte_count();
  for (const auto& x : idle_)
    result.workspace_bytes += x->memory.byte_count();
  for (const auto& [size, pool] : pools_.by_size)
    result.buffer_bytes += size * pool.made_count() * sizeof(float);
  return result;
}

} // namespace troupe
