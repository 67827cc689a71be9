#include "troupe/actors/step/portion_member.hpp"

#include "troupe/actors/protocol/cluster_messages.hpp"
#include "troupe/coordinators/step/placement.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <algorithm>

namespace troupe {

namespace {

portion_work_options work_options(const replica_options& options, const view& news, size_t index) {
  portion_work_options result{options.network, {}, 0, options.schedule};
  for (const auto i : group_of(news, index)) {
    const auto& entry = news.replicas[i];
    if (i == index)
      result.own = result.group.size();
    result.group.push_back({entry.slices, entry.segments, entry.parts});
  }
  return result;
}

/// Of the two only whom they are for may differ.
bool is_same_piece(const seam_piece& a, const seam_piece& b) {
  return a.name == b.name && a.is_complete == b.is_complete && a.parts == b.parts &&
         a.rows == b.rows;
}

} // namespace

std::vector<size_t> group_of(const view& news, size_t index) {
  std::vector<size_t> result;
  for (size_t i = 0; i < news.replicas.size(); ++i)
    if (news.replicas[i].slices == news.replicas[index].slices)
      result.push_back(i);
  return result;
}

portion_member::portion_member(replica_actor::pointer self, const replica_options& options,
                               const view& news, size_t index)
  : self_(self),
    options_(options),
    view_(news),
    index_(index),
    rows_{options.data, options.order, options.plan, options.seed},
    members_(group_of(news, index)),
    work_(work_options(options, news, index)) {}

void portion_member::begin_step(uint64_t step, const const_buffer& point) {
  const auto& slices = view_.replicas[index_].slices;
  std::vector<size_t> items;
  for (auto slice = slices.begin; slice < slices.end; ++slice)
    if (options_.plan.slice_exists(step, slice))
      items.push_back(slice);
  evaluates_ = false;
  version_ = step;
  computed_for_ = {};
  work_.begin(tile_rule::work_kind::step, step, items, {point, view_.window},
              [this, step](size_t slice, batch_reader& reader) {
                return rows_.of_slice(step, slice, reader);
              });
}

void portion_member::begin_evaluation(uint64_t version, const index_range& chunks,
                                      const const_buffer& parameters) {
  std::vector<size_t> items;
  for (auto chunk = chunks.begin; chunk < chunks.end; ++chunk)
    items.push_back(chunk);
  evaluates_ = true;
  version_ = version;
  chunks_ = chunks;
  evaluated_.assign(chunks.size(), {});
  work_.begin(tile_rule::work_kind::evaluation, version, items, {parameters, view_.window},
              [this](size_t chunk, batch_reader&) { return rows_.of_chunk(chunk); });
}

void portion_member::abandon() {
  work_.abandon();
  parts_.clear();
}

void portion_member::on_seam(const seam& news) {
  work_.on_piece(news.piece);
  deliver();
}

bool portion_member::compute_next() {
  const auto begin = self_->clock().now();
  const bool computed = work_.compute_next();
  computed_for_ += self_->clock().now() - begin;
  deliver();
  return computed;
}

// A piece goes to the node once, with all those of other processes who need it.
void portion_member::send_pieces() {
  const auto sent = work_.take_sent();
  seam news{view_.term, view_.number, {}, index_, {}};
  for (size_t i = 0; i < sent.size(); ++i) {
    news.piece = sent[i].piece;
    const auto place = members_[sent[i].member];
    if (const auto& actor = view_.replicas[place].actor)
      self_->send(actor, news);
    else
      news.to.push_back(place);
    const bool is_last = i + 1 == sent.size() || !is_same_piece(sent[i + 1].piece, sent[i].piece);
    if (!is_last || news.to.empty())
      continue;
    self_->send(view_.relay, news);
    news.to.clear();
  }
}

void portion_member::deliver() {
  send_pieces();
  const auto done = work_.take_finished();
  for (const auto& item : done) {
    if (evaluates_) {
      evaluated_[item.item - chunks_.begin] = item.sums;
      continue;
    }
    poison_if_asked(item);
    computed_.push_back(item.item);
    add({{item.item, item.item + 1}, item.gradient, item.sums});
  }
  if (done.empty() || is_busy())
    return;
  if (evaluates_)
    self_->send(view_.director, evaluation{view_.term, version_, chunks_.begin, evaluated_});
  for (const auto& part : std::exchange(parts_, {}))
    contribute(part);
}

// Slices may be done in any order; neighbours that the tree adds are added as soon as both are here.
void portion_member::add(partial_sum part) {
  for (bool added = !options_.hooks.keeps_slices_apart; added;) {
    added = false;
    for (auto other = parts_.begin(); other != parts_.end(); ++other) {
      const bool is_left = are_siblings(options_.plan.slice_count, other->node, part.node);
      if (!is_left && !are_siblings(options_.plan.slice_count, part.node, other->node))
        continue;
      auto left = is_left ? *other : part;
      const auto& right = is_left ? part : *other;
      add_into(left.values.values(), right.values.values());
      part = {{left.node.begin, right.node.end}, left.values, left.sums + right.sums};
      parts_.erase(other);
      added = true;
      break;
    }
  }
  parts_.push_back(std::move(part));
}

void portion_member::contribute(const partial_sum& part) {
  const auto parameter_count = options_.network->layout().size();
  for (const auto& shard : view_.shards) {
    const auto span = elements_of_blocks(shard.blocks, parameter_count);
    for (const auto& run : work_.window().runs()) {
      const auto begin = std::max(run.elements.begin, span.begin);
      const auto end = std::min(run.elements.end, span.end);
      if (begin >= end)
        continue;
      const auto cut = options_.hooks.cut_step == version_ ? 1 : 0;
      const payload values{part.values, run.place + begin - run.elements.begin, end - begin - cut};
      const contribution news{version_, part.node,  begin, values,       part.sums,
                              index_,   view_.term, false, computed_for_};
      if (shard.actor)
        self_->send(shard.actor, news);
      else
        self_->send(view_.relay, news);
    }
  }
}

void portion_member::poison_if_asked(const portion_work::finished& item) const {
  const auto& hooks = options_.hooks;
  for (const auto& run : work_.window().runs())
    if (hooks.poisoned_step == version_ && hooks.poisoned_slice == item.item &&
        run.elements.contains(hooks.poisoned_element))
      item.gradient.values()[run.place + hooks.poisoned_element - run.elements.begin] =
        hooks.poison;
}

} // namespace troupe
