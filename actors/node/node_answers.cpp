// Pieces: what others are sent, what they may ask for, and what is asked of them.

#include "troupe/actors/node/node.hpp"

#include "troupe/coordinators/step/placement.hpp"

#include <algorithm>

namespace troupe {

void node_state::send_gradient(const contribution& work, const index_range& elements,
                               const std::string& to, bool again) {
  for (const auto& place : view_.shards) {
    const auto span = elements_of_blocks(place.blocks, options_.network->layout().size());
    post(to, {piece_kind::gradient, work.step, work.node, 0, span.begin},
         common_part(span, elements), urgency::training, again);
  }
}

void node_state::on_want(const want& news) {
  // Who is out of the view is told nothing: a stop is agreed on among those who are in it.
  if (!takes_part() || !(news.asker.empty() || view_.find(news.asker)))
    return;
  switch (news.kind) {
  case want_kind::parameters:
    return answer_parameters(news);
  case want_kind::gradients:
    return answer_gradients(news);
  case want_kind::norms:
    return answer_norms(news);
  case want_kind::checkpoint:
    return answer_checkpoint(news);
  case want_kind::orders:
  case want_kind::results:
    return answer_parcels(news);
  }
}

void node_state::answer_parameters(const want& news) {
  for (size_t k = 0; k < desks_.size(); ++k) {
    const auto& desk = desks_[k];
    if (!marches())
      pull_for(news, k);
    for (const auto& [version, kept] : desk.versions)
      for (const auto& wanted : news.elements)
        if (version == news.version || (news.newest && version > news.version))
          post(news.asker, {piece_kind::state, version, {}, 0, desk.span().begin},
               common_part(desk.span(), wanted), urgency::training, !news.asker.empty());
  }
  if (news.asker.empty()) { // the director counts what was done, this included
    wanted_round_ = std::max(wanted_round_, news.round);
    report_soon();
  }
}

// Without a wire, or from a keeper: the shard alone knows its versions.
void node_state::pull_for(const want& news, size_t desk) {
  const auto span = desks_[desk].span();
  self_->request(shards_[desks_[desk].local], local_answer_deadline, atom::pull_v, news.version)
    .then(
      [this, news, span](const parameter_span& answer) {
        for (const auto& wanted : news.elements)
          for (const auto& piece : cut(common_part(span, wanted), options_.piece_elements))
            send_to(news.asker, state_piece{view_.id.term, answer.version, 0, piece.begin,
                                            part_of(answer.values, span.begin, piece)});
      },
      // A version that is gone or will not come: the director hears why from the shard itself.
      [](const caf::error&) {});
}

void node_state::answer_gradients(const want& news) {
  const auto found = sent_.find(news.version);
  if (found == sent_.end())
    return; // not computed yet: it will come by itself
  for (const auto& part : found->second) {
    const bool is_wanted = std::ranges::any_of(news.slices, [&](const index_range& slices) {
      return !common_part(slices, part.node).empty();
    });
    for (const auto& elements : news.elements)
      if (is_wanted)
        send_gradient(part, elements, news.asker, true);
  }
}

void node_state::answer_norms(const want& news) {
  const auto found = norms_.find(news.version);
  if (found == norms_.end())
    return;
  for (const auto& share : found->second)
    send_to(news.asker, share);
  ++resends_;
}

// Only the director asks for these.
void node_state::answer_checkpoint(const want& news) {
  for (const auto& desk : desks_) {
    const auto found = desk.copies.find(news.version);
    if (found == desk.copies.end())
      continue;
    const auto& copy = found->second;
    for (const auto& wanted : news.elements) {
      const auto elements = common_part(desk.span(), wanted);
      if (elements.empty())
        continue;
      for (size_t slot = 0; slot <= copy.slots.size(); ++slot)
        post({}, {piece_kind::state, copy.version, {}, slot, desk.span().begin}, elements,
             urgency::checkpoint, false);
      send_to({}, copy.numbers);
    }
  }
}

std::vector<std::string> node_state::owners_of(const index_range& elements) const {
  std::vector<std::string> result;
  for (const auto& place : view_.shards) {
    const auto span = elements_of_blocks(place.blocks, options_.network->layout().size());
    const auto& owner = view_.members[place.member].name;
    if (place.member != *me_ && !common_part(span, elements).empty() &&
        std::ranges::find(result, owner) == result.end())
      result.push_back(owner);
  }
  return result;
}

// What has come so far is told first: what is still under way then is not sent again.
void node_state::ask(const std::string& owner, want question) {
  tell_credit(owner);
  question.asker = options_.self.name;
  send_to(owner, question);
}

void node_state::ask_for_parameters(moment now) {
  if (!computes() || !parameters_clock_.due(now))
    return;
  want question;
  question.kind = want_kind::parameters;
  question.version = gathering_.wanted().value_or(0);
  // Whoever has been away cannot know what there is.
  question.newest = true;
  question.elements = gathering_.missing();
  for (const auto& elements : question.elements) {
    want part = question;
    part.elements = {elements};
    for (const auto& owner : owners_of(elements))
      ask(owner, part);
  }
}

void node_state::ask_for_gradients(moment now) {
  for (auto& desk : desks_) {
    if (!desk.gradients_clock.due(now))
      continue;
    for (size_t i = 0; i < view_.members.size(); ++i) {
      if (i == *me_)
        continue;
      std::vector<index_range> slices;
      for (const auto& place : view_.replicas)
        if (place.member == i && !place.slices.empty())
          slices.push_back(place.slices);
      want question;
      question.kind = want_kind::gradients;
      question.version = desk.version();
      question.slices = desk.gathering.missing(slices);
      question.elements = {desk.span()};
      if (!question.slices.empty())
        ask(view_.members[i].name, question);
    }
  }
}

void node_state::ask_for_norms(moment now) {
  if (!options_.uses_norms)
    return;
  for (auto& desk : desks_) {
    if (!desk.norms_clock.due(now) || !norms_.contains(desk.version()))
      continue;
    want question;
    question.kind = want_kind::norms;
    question.version = desk.version();
    for (size_t i = 0; i < view_.members.size(); ++i)
      if (i != *me_ && view_.holds_spans(i))
        ask(view_.members[i].name, question);
  }
}

void node_state::ask_for_state(moment now) {
  if (!restoring_ || !restoring_clock_.due(now))
    return;
  want question;
  question.kind = want_kind::checkpoint;
  question.version = restoring_->version();
  question.elements = restoring_->missing();
  ask({}, question);
}

} // namespace troupe
