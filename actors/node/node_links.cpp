// What goes to other processes: pieces as far as there is credit, everything else at once.

#include "troupe/actors/node/node.hpp"

#include <algorithm>

namespace troupe {

namespace {

template <class T>
constexpr bool is_for_director =
  std::is_same_v<T, shard_numbers> || std::is_same_v<T, state_piece> || std::is_same_v<T, want> ||
  std::is_same_v<T, credit> || std::is_same_v<T, link_stamp>;

} // namespace

template <class T>
void node_state::send_to(const std::string& to, const T& message) {
  if (to.empty()) {
    if constexpr (is_for_director<T>) {
      if (director_)
        self_->send(director_, message);
    }
    return;
  }
  if (const auto found = peers_.find(to); found != peers_.end())
    self_->send(found->second.actor, message);
}

template void node_state::send_to(const std::string&, const block_norms&);
template void node_state::send_to(const std::string&, const order_sheet&);
template void node_state::send_to(const std::string&, const result_sheet&);
template void node_state::send_to(const std::string&, const shard_numbers&);
template void node_state::send_to(const std::string&, const state_piece&);
template void node_state::send_to(const std::string&, const want&);

link_credit* node_state::credit_of(const std::string& who) {
  if (who.empty())
    return director_ ? &to_director_ : nullptr;
  const auto found = peers_.find(who);
  return found == peers_.end() ? nullptr : &found->second.out;
}

// Without a link it is not sent: who misses it will ask.
void node_state::post(const std::string& to, const piece_name& what, const index_range& elements,
                      urgency haste, bool again) {
  auto* out = credit_of(to);
  if (out == nullptr)
    return;
  const auto added = out->add(what, elements, haste);
  if (again)
    resends_ += cut({0, added}, options_.piece_elements).size();
  flow(to);
}

void node_state::flow(const std::string& to) {
  auto* out = credit_of(to);
  if (out == nullptr)
    return;
  const auto now = self_->clock().now();
  out->drop_if([this](const piece_name& what) { return !is_kept(what); });
  while (const auto piece = out->next(now))
    send_piece(to, *piece);
  if (const auto position = out->question(now))
    send_to(to, link_stamp{options_.self.name, out->link(), *position});
}

void node_state::flow_everywhere() {
  flow({});
  for (const auto& [who, there] : peers_)
    flow(who);
}

void node_state::send_piece(const std::string& to, const link_credit::granted& piece) {
  const auto& [what, elements, position] = piece;
  const link_stamp stamp{options_.self.name, credit_of(to)->link(), position};
  if (what.kind == piece_kind::gradient) {
    const auto& work = *kept_gradient(what);
    send_to(to, gradient_piece{view_.id.term, work.step, work.node, work.sums, elements.begin,
                               part_of(work.gradient_sum, work.first_element, elements),
                               work.replica, stamp, work.computed});
  } else if (what.kind == piece_kind::state) {
    send_to(to, state_piece{view_.id.term, what.version, what.slot, elements.begin,
                            part_of(*kept_state(what), what.origin, elements), stamp});
  } else {
    send_to(to,
            parcel_piece{view_.id.term, what.kind == piece_kind::result, what.version, what.slot,
                         elements.begin, part_of(*kept_vector(what), 0, elements), stamp});
  }
  const bool crosses_wire = !to.empty() || director_.node() != self_->node();
  bytes_sent_ += crosses_wire ? elements.size() * sizeof(float) : 0;
}

const contribution* node_state::kept_gradient(const piece_name& what) {
  if (const auto step = sent_.find(what.version); step != sent_.end())
    if (const auto part = std::ranges::find(step->second, what.node, &contribution::node);
        part != step->second.end())
      return &*part;
  const auto* part = begun(what.version, what.node);
  return part == nullptr ? nullptr : &part->whole;
}

std::optional<payload> node_state::kept_state(const piece_name& what) const {
  const auto desk = std::ranges::find_if(
    desks_, [&](const shard_desk& one) { return one.span().begin == what.origin; });
  if (desk == desks_.end())
    return std::nullopt;
  const auto version = desk->versions.find(what.version);
  if (what.slot == 0 && version != desk->versions.end())
    return version->second;
  const auto copy = desk->copies.find(what.version);
  if (copy == desk->copies.end() || what.slot > copy->second.slots.size())
    return std::nullopt;
  return what.slot == 0 ? copy->second.parameters : copy->second.slots[what.slot - 1];
}

bool node_state::is_kept(const piece_name& what) {
  switch (what.kind) {
  case piece_kind::gradient:
    return kept_gradient(what) != nullptr;
  case piece_kind::state:
    return kept_state(what).has_value();
  case piece_kind::order:
  case piece_kind::result:
    break;
  }
  return kept_vector(what).has_value();
}

void node_state::forget_what_waits() {
  to_director_.forget();
  for (auto& [who, there] : peers_)
    there.out.forget();
}

void node_state::on_credit(const credit& news) {
  if (auto* out = credit_of(news.from)) {
    out->on_credit(news.link, news.position, self_->clock().now());
    flow(news.from);
  }
}

void node_state::on_link_stamp(const link_stamp& news) {
  auto& receipt = receipts_[news.from];
  receipt.on_stamp(news);
  send_to(news.from, receipt.tell(options_.self.name));
}

void node_state::acknowledge(const link_stamp& stamp) {
  if (stamp.link == 0)
    return;
  auto& receipt = receipts_[stamp.from];
  receipt.on_stamp(stamp);
  if (receipt.due(options_.credit_bytes))
    send_to(stamp.from, receipt.tell(options_.self.name));
}

void node_state::tell_credit(const std::string& to) {
  const auto found = receipts_.find(to);
  if (found != receipts_.end() && found->second.is_news())
    send_to(to, found->second.tell(options_.self.name));
}

} // namespace troupe
