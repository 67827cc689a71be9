#include "coordinators/exchange/tensor_exchange.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

/// Says to this peer which tensors its piece made whole, by the effects from `first` on. If that is
/// lost, the peer keeps them a little longer.
void tell_what_came(peer_id from, const std::vector<expected_tensor>& expected, size_t first,
                    std::vector<exchange_effect>& effects) {
  for (auto i = first; i < effects.size(); ++i) {
    const auto* news = std::get_if<tensor_arrived>(&effects[i]);
    if (news == nullptr || std::ranges::none_of(expected, [&](const expected_tensor& x) {
          return x.tells() && x.kind() == news->of.kind && x.elements() == news->elements;
        }))
      continue;
    tensor_want end{news->of, {news->elements}, false, true};
    effects.emplace_back(send_want{from, std::move(end)});
  }
}

uint64_t term_of(tensor_kind kind, uint64_t term) {
  return is_of_any_term(kind) ? 0 : term;
}

} // namespace

void tensor_exchange::begin_term(uint64_t term) {
  term_ = term;
  kept_.forget_terms();
  expected_.clear();
  for (auto& [peer, way] : links_)
    way.out.forget();
}

void tensor_exchange::link_opened(peer_id peer, uint64_t number, bool over_wire) {
  links_[peer] = {{number, options_.window_bytes, options_.piece_elements}, {}, over_wire};
}

void tensor_exchange::withdraw(peer_id peer) {
  if (const auto found = links_.find(peer); found != links_.end())
    found->second.out.forget();
}

// ---- What is here for others ----

void tensor_exchange::publish(const kept_tensor& x, std::span<const tensor_route> routes,
                              moment now) {
  if (x.of.term != term_of(x.of.kind, term_) || x.elements().empty())
    return;
  kept_.put(x);
  for (auto rest = kept_.rest_of(x); !rest.empty(); rest = kept_.rest_of(x)) {
    kept_.grow(x, rest);
    hand_out(x, rest, routes);
  }
  kept_.drop_older(x);
  drop_what_is_gone();
  flow_everywhere(now, routes);
}

void tensor_exchange::grow(const kept_tensor& x, const index_range& elements,
                           std::span<const tensor_route> routes, moment now) {
  if (x.of.term != term_of(x.of.kind, term_))
    return;
  if (!kept_.has(x))
    kept_.put(x);
  if (!kept_.grow(x, elements))
    return;
  figures_.bytes_early += hand_out(x, elements, routes) * bytes_of(options_.format_of(x.of.kind));
  flow_everywhere(now, routes);
}

size_t tensor_exchange::hand_out(const kept_tensor& x, const index_range& elements,
                                 std::span<const tensor_route> routes) {
  size_t result = 0;
  for (const auto& route : routes)
    if (const auto found = links_.find(route.to); found != links_.end())
      result += found->second.out.add(x.of, shared_part(elements, route.elements), x.haste);
  return result;
}

void tensor_exchange::send(peer_id to, const tensor_name& name, const index_range& elements,
                           moment now) {
  const auto found = links_.find(to);
  if (found == links_.end())
    return;
  auto& out = found->second.out;
  kept_.answer(name, {&elements, 1}, false, [&](const kept_tensor& x, const index_range& part) {
    out.add(x.of, part, x.haste);
  });
  flow(to, found->second, now);
}

void tensor_exchange::forget(tensor_kind kind, const key_range& keys) {
  kept_.forget(kind, keys);
  drop_what_is_gone();
}

void tensor_exchange::drop_what_is_gone() {
  for (auto& [peer, way] : links_)
    way.out.drop_if([this](const tensor_name& name, const index_range& elements) {
      return kept_.find(name, elements) == nullptr;
    });
}

// Without a link there is no credit: the peer asks later for what is added then.
void tensor_exchange::flow(peer_id to, link& way, moment now) {
  while (const auto piece = way.out.next(now))
    send_granted(to, way, *piece);
  if (const auto position = way.out.question(now))
    effects_.emplace_back(send_stamp{to, {way.out.link(), *position}});
}

void tensor_exchange::flow_everywhere(moment now, std::span<const tensor_route> first) {
  for (const auto& route : first)
    if (const auto found = links_.find(route.to); found != links_.end())
      flow(route.to, found->second, now);
  for (auto& [peer, way] : links_)
    flow(peer, way, now);
}

void tensor_exchange::send_granted(peer_id to, link& way, const outgoing_link::granted& piece) {
  const auto* kept = kept_.find(piece.name, piece.elements);
  if (kept == nullptr)
    return;
  tensor_piece what{
    piece.name, piece.elements.begin, {}, kept->note, {way.out.link(), piece.position}};
  if (kept->elsewhere > 0) {
    effects_.emplace_back(piece_due{to, piece.elements, std::move(what)});
  } else {
    what.values = kept->part(piece.elements).with_format(options_.format_of(piece.name.kind));
    effects_.emplace_back(send_piece{to, std::move(what)});
  }
  if (way.over_wire)
    figures_.bytes_sent[static_cast<size_t>(piece.name.kind)] +=
      piece.elements.size() * bytes_of(options_.format_of(piece.name.kind));
}

// ---- What this process needs ----

void tensor_exchange::expect(expectation what, moment now) {
  std::erase_if(expected_, [&](const expected_tensor& x) {
    return x.kind() == what.kind && x.elements() == what.elements && x.parts() == what.parts &&
           (what.newest || x.key() == what.key);
  });
  expected_.emplace_back(std::move(what), now);
}

void tensor_exchange::set_sources(tensor_kind kind, uint64_t key, const index_range& elements,
                                  const std::vector<tensor_source>& sources) {
  for (auto& x : expected_)
    if (x.kind() == kind && x.key() == key && x.elements() == elements)
      x.set_sources(sources);
}

void tensor_exchange::dismiss(tensor_kind kind, const key_range& keys, const index_range& within,
                              bool exactly) {
  std::erase_if(expected_, [&](const expected_tensor& x) {
    return x.kind() == kind && keys.contains(x.key()) &&
           (exactly ? x.elements() == within : within.contains(x.elements()));
  });
}

piece_verdict tensor_exchange::offer(const kept_tensor& x, moment now) {
  return judge({x.of, x.first_element, x.values, x.note, {}}, now, true);
}

void tensor_exchange::offer_kept(tensor_kind kind, moment now) {
  kept_.for_each_whole(kind, [&](const kept_tensor& x) { offer(x, now); });
}

piece_verdict tensor_exchange::judge(const tensor_piece& news, moment now, bool is_own) {
  const auto size = news.values.size();
  if (size == 0 || news.first_element > element_count_max || size > element_count_max)
    return piece_verdict::malformed;
  if (const auto term = term_of(news.of.kind, term_); news.of.term != term)
    return news.of.term < term ? piece_verdict::stale : piece_verdict::early;
  auto result = piece_verdict::unexpected;
  for (auto& x : expected_)
    if (x.kind() == news.of.kind) {
      result = std::max(result, x.offer(news, now, is_own));
      x.take_arrived(effects_);
    }
  return result;
}

// A want carries the credit, so that the peer does not send again what is still under way. In a message of its own
// the credit could be overtaken where credit and wants go different ways.
void tensor_exchange::ask(const expected_tensor& x) {
  x.ask(term_of(x.kind(), term_), [this](peer_id peer, tensor_want&& question) {
    const auto found = links_.find(peer);
    if (found == links_.end())
      return;
    if (!holds_credit_)
      question.seen = found->second.in.tell();
    effects_.emplace_back(send_want{peer, std::move(question)});
  });
}

std::vector<send_want> tensor_exchange::awaited() const {
  std::vector<send_want> result;
  for (const auto& x : expected_)
    x.ask(term_of(x.kind(), term_), [&](peer_id peer, tensor_want&& question) {
      result.push_back({peer, std::move(question)});
    });
  return result;
}

// ---- The wire ----

// A stamp counts whatever becomes of the values: they are no longer under way.
piece_verdict tensor_exchange::on_piece(peer_id from, const tensor_piece& news, moment now) {
  if (const auto found = links_.find(from); found != links_.end()) {
    auto& in = found->second.in;
    in.on_stamp(news.stamp);
    if (in.due(options_.window_bytes))
      tell_credit(from, found->second);
  }
  const auto before = effects_.size();
  const auto result = judge(news, now, false);
  tell_what_came(from, expected_, before, effects_);
  return result;
}

void tensor_exchange::on_want(peer_id from, const tensor_want& question, moment now) {
  const auto found = links_.find(from);
  if (found == links_.end() || question.of.term != term_of(question.of.kind, term_))
    return;
  if (question.have_come) {
    if (is_of_any_term(question.of.kind)) // its maker waits for that
      effects_.emplace_back(tensor_asked{from, question});
    kept_.have_come(question.of, question.elements);
    return drop_what_is_gone();
  }
  effects_.emplace_back(tensor_asked{from, question});
  auto& out = found->second.out;
  out.on_credit(question.seen, now);
  const auto ranges =
    std::span{question.elements}.first(std::min(question.elements.size(), want_ranges_max));
  kept_.answer(
    question.of, ranges, question.or_newer, [&](const kept_tensor& x, const index_range& part) {
      if (out.waiting_count() >= waiting_ranges_max)
        return;
      const auto added = out.add(x.of, part, x.haste);
      if (from != peer_id::director && (question.or_newer || !x.is_fetched))
        figures_.resends += (added + options_.piece_elements - 1) / options_.piece_elements;
    });
  flow(from, found->second, now);
}

void tensor_exchange::on_credit(peer_id from, const link_position& seen, moment now) {
  const auto found = links_.find(from);
  if (found == links_.end())
    return;
  found->second.out.on_credit(seen, now);
  flow(from, found->second, now);
}

void tensor_exchange::on_stamp(peer_id from, const link_position& sent) {
  const auto found = links_.find(from);
  if (found == links_.end())
    return;
  found->second.in.on_stamp(sent);
  tell_credit(from, found->second);
}

void tensor_exchange::hold_credit(bool holds) {
  holds_credit_ = holds;
  for (auto& [peer, way] : links_)
    if (way.in.is_news())
      tell_credit(peer, way);
}

// While credit is held back, a peer's question stays unanswered; the peer asks again.
void tensor_exchange::tell_credit(peer_id to, link& way) {
  if (holds_credit_)
    return;
  effects_.emplace_back(send_credit{to, way.in.tell()});
}

void tensor_exchange::tick(moment now) {
  for (auto& x : expected_)
    if (x.due(now)) {
      figures_.resends += x.is_asked_again() ? 1 : 0;
      ask(x);
    }
  flow_everywhere(now);
}

void tensor_exchange::take_effects(std::vector<exchange_effect>& out) {
  out.clear();
  std::swap(out, effects_);
}

exchange_figures tensor_exchange::figures() const {
  auto result = figures_;
  for (const auto& [peer, way] : links_) {
    result.bytes_under_way += way.out.bytes_under_way();
    result.ranges_waiting += way.out.waiting_count();
    result.links.push_back({peer, way.out.link(), way.out.bytes_sent(), way.out.bytes_seen(),
                            way.out.waiting_count(), way.in.seen()});
  }
  result.tensors_kept = kept_.count();
  for (const auto& x : expected_)
    result.tensors_arriving += x.arriving_count();
  return result;
}

} // namespace troupe
