#include "actors/step/partition_member.hpp"

#include "actors/protocol/cluster_messages.hpp"
#include "coordinators/step/placement.hpp"
#include "models/base/copy_values.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <algorithm>

namespace troupe {

namespace {

partition_work_options work_options(const replica_options& options, const view& news, size_t index,
                                    workspace& memory) {
  partition_work_options result{options.network,    {},     0, options.schedule,
                                options.by_segment, &memory};
  for (const auto i : group_of(news, index)) {
    const auto& entry = news.replicas[i];
    if (i == index)
      result.own = result.group.size();
    result.group.push_back({entry.slices, entry.segments, entry.parts});
  }
  return result;
}

payload copy_of(const payload& x) {
  const buffer storage{x.size()};
  copy_values(x.values(), storage.values().begin());
  return {storage, 0, x.size()};
}

/// True if the two pieces differ at most in their receiver.
bool is_same_piece(const boundary_piece& a, const boundary_piece& b) {
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

partition_member::partition_member(replica_actor::pointer self, const replica_options& options,
                                   const view& news, size_t index, boundary_waits& waits,
                                   workspace& memory)
  : self_(self),
    options_(options),
    view_(news),
    index_(index),
    waits_(waits),
    members_(group_of(news, index)),
    work_(work_options(options, news, index, memory)) {}

void partition_member::begin_step(uint64_t step, const const_buffer& point) {
  const auto& slices = view_.replicas[index_].slices;
  std::vector<size_t> items;
  for (auto slice = slices.begin; slice < slices.end; ++slice)
    if (options_.plan.slice_exists(step, slice))
      items.push_back(slice);
  evaluates_ = false;
  version_ = step;
  computed_for_ = {};
  const auto bucket_count = options_.by_segment ? view_.replicas[index_].segments.size() : 1;
  buckets_.assign(bucket_count, {{}, items.size()});
  work_.begin(tile_rule::work_kind::step, step, items, {point, view_.window},
              [this, step](size_t slice, batch_reader& reader) {
                return options_.rows->of_slice(step, slice, reader);
              });
  send_requests();
}

void partition_member::begin_evaluation(uint64_t version, const index_range& chunks,
                                        const const_buffer& parameters) {
  evaluates_ = true;
  version_ = version;
  at_hand_ = parameters;
  chunks_ = chunks;
  next_chunk_ = chunks.begin;
  evaluated_.assign(chunks.size(), {});
  begin_chunks();
}

void partition_member::begin_chunks() {
  const auto together = options_.by_segment ? chunks_together_max : chunks_.size();
  std::vector<size_t> items;
  for (; next_chunk_ < chunks_.end && items.size() < together; ++next_chunk_)
    items.push_back(next_chunk_);
  work_.begin(
    tile_rule::work_kind::evaluation, version_, items, {at_hand_, view_.window},
    [this](size_t chunk, batch_reader& reader) { return options_.rows->of_chunk(chunk, reader); });
  send_requests();
}

void partition_member::abandon() {
  work_.abandon();
  idle_since_.reset();
  buckets_.clear();
  next_chunk_ = chunks_.end;
  send_requests();
}

void partition_member::on_boundary(const boundary& news) {
  if (idle_since_ && news.from < view_.replicas.size())
    piece_of_ = news.from;
  work_.on_piece(news.piece);
  if (!is_busy())
    end_wait(self_->clock().now());
  deliver();
}

void partition_member::on_parameters(const segment_parameters& news) {
  piece_of_.reset();
  if (news.version == version_)
    work_.parameters().on_arrived(news.segment, news.values.storage());
}

bool partition_member::compute_next() {
  const auto begin = self_->clock().now();
  const bool computed = work_.compute_next();
  count(begin, computed);
  deliver();
  return computed;
}

void partition_member::count(moment begin, bool computed) {
  const auto now = self_->clock().now();
  if (computed) {
    end_wait(begin);
    computed_for_ += now - begin;
    waits_.computed += now - begin;
  } else if (is_busy()) {
    idle_since_ = idle_since_.value_or(now);
  }
}

// A wait for parameters is counted for no member.
void partition_member::end_wait(moment now) {
  if (idle_since_ && piece_of_)
    waits_.add(view_.replicas[*piece_of_].name, now - *idle_since_);
  idle_since_.reset();
  piece_of_.reset();
}

// The node gets a piece once, with all its receivers in other processes.
void partition_member::send_pieces() {
  const auto sent = work_.take_sent();
  boundary news{view_.term, view_.number, {}, index_, {}};
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

void partition_member::send_requests() {
  for (const auto& x : work_.parameters().take_requests())
    self_->send(view_.relay, segment_request{view_.term, view_.number, version_, index_, x.segment,
                                             x.is_needed});
}

void partition_member::deliver() {
  send_pieces();
  send_requests();
  const auto done = work_.take_finished();
  for (const auto& item : done) {
    if (evaluates_) {
      evaluated_[item.item - chunks_.begin] = item.sums;
      continue;
    }
    poison_if_asked(item);
    round_to(options_.exchange, item.gradient.values());
    if (item.is_last)
      computed_.push_back(item.item);
    auto& bucket = buckets_[item.bucket];
    add(bucket.parts, {{item.item, item.item + 1}, item.gradient, item.sums});
    if (--bucket.left == 0)
      for (const auto& part : std::exchange(bucket.parts, {}))
        contribute(part, item.bucket);
  }
  if (done.empty() || is_busy() || !evaluates_)
    return;
  if (next_chunk_ < chunks_.end)
    return begin_chunks();
  self_->send(view_.director, evaluation{view_.term, version_, chunks_.begin, evaluated_});
}

// Slices may be done in any order. Neighbours that the tree adds are added as soon as both are
// here.
void partition_member::add(std::vector<partial_sum>& parts, partial_sum part) const {
  for (bool added = !options_.hooks.keeps_slices_apart; added;) {
    added = false;
    for (auto other = parts.begin(); other != parts.end(); ++other) {
      const bool is_left = are_siblings(options_.plan.slice_count, other->node, part.node);
      if (!is_left && !are_siblings(options_.plan.slice_count, part.node, other->node))
        continue;
      auto left = is_left ? *other : part;
      const auto& right = is_left ? part : *other;
      add_into(left.values.values(), right.values.values(), options_.exchange);
      part = {{left.node.begin, right.node.end}, left.values, left.sums + right.sums};
      parts.erase(other);
      added = true;
      break;
    }
  }
  parts.push_back(std::move(part));
}

void partition_member::contribute(const partial_sum& part, size_t bucket) {
  const auto parameter_count = options_.network->layout().size();
  for (const auto& shard : view_.shards) {
    const auto span = elements_of_blocks(shard.blocks, parameter_count);
    for (const auto& run : work_.window(bucket).runs()) {
      const auto begin = std::max(run.elements.begin, span.begin);
      const auto end = std::min(run.elements.end, span.end);
      if (begin >= end)
        continue;
      const auto cut = options_.hooks.cut_step == version_ ? 1 : 0;
      payload values{part.values, run.place + begin - run.elements.begin, end - begin - cut};
      if (shard.actor && view_.wired && options_.by_segment && values.size() < part.values.size())
        values = copy_of(values); // a copy lets the rest of the buffer go early
      const contribution news{version_, part.node,  begin, values,       part.sums,
                              index_,   view_.term, false, computed_for_};
      if (shard.actor)
        self_->send(shard.actor, news);
      else
        self_->send(view_.relay, news);
    }
  }
}

void partition_member::poison_if_asked(const partition_work::finished& item) const {
  const auto& hooks = options_.hooks;
  for (const auto& run : work_.window(item.bucket).runs())
    if (hooks.poisoned_step == version_ && hooks.poisoned_slice == item.item &&
        run.elements.contains(hooks.poisoned_element))
      item.gradient.values()[run.place + hooks.poisoned_element - run.elements.begin] =
        hooks.poison;
}

} // namespace troupe
