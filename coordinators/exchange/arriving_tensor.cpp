#include "coordinators/exchange/arriving_tensor.hpp"

#include "models/base/copy_values.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace troupe {

namespace {

bool is_same_place(const float_view& a, const float_view& b) {
  return a.offset() == b.offset() && a.storage().same_storage(b.storage());
}

std::span<const float> part_of(const tensor_piece& x, const index_range& elements) {
  return x.values.values().subspan(elements.begin - x.first_element, elements.size());
}

} // namespace

piece_verdict arriving_tensor::offer(const tensor_piece& news, const tensor_memory& memory,
                                     bool may_share) {
  const index_range elements{news.first_element, news.first_element + news.values.size()};
  const auto part = shared_part(elements, elements_);
  const bool is_first = here_.ranges().empty();
  if (!is_first && note_.facts != news.note.facts)
    return piece_verdict::conflict;
  bool is_known = true;
  bool is_same = true;
  for_each_needed(part, [&](const index_range& one) {
    is_known = is_known && here_.contains(one);
    is_same = is_same && (!is_known || sink_ || holds_same(news, one));
  });
  if (is_known)
    return is_same ? piece_verdict::known : piece_verdict::conflict;
  const auto whole = may_share && !needed_ && !sink_ ? around(news) : float_view{};
  if (is_first)
    shared_ = whole;
  const bool is_in_place = whole.size() > 0 && is_same_place(shared_, whole);
  for_each_needed(part, [&](const index_range& one) {
    for (const auto& gap : here_.missing_in(one))
      if (!is_in_place)
        store(news, gap, memory);
    here_.add(one);
  });
  note_.facts = news.note.facts;
  for (size_t i = 0; i < note_.remarks.size(); ++i)
    note_.remarks[i] = std::max(note_.remarks[i], news.note.remarks[i]);
  return piece_verdict::accepted;
}

bool arriving_tensor::is_whole() const {
  bool result = true;
  for_each_needed(elements_,
                  [&](const index_range& one) { result = result && here_.contains(one); });
  return result;
}

float_view arriving_tensor::around(const tensor_piece& news) const {
  const auto& storage = news.values.storage();
  const auto offset = news.values.offset();
  // Should it begin before the buffer, this wraps to more than any size.
  const auto begin = offset + elements_.begin - news.first_element;
  if (begin > storage.size() || elements_.size() > storage.size() - begin)
    return {};
  return {storage, begin, elements_.size()};
}

bool arriving_tensor::holds_same(const tensor_piece& news, const index_range& part) const {
  const auto held =
    own_.storage ? own_.part(part) : shared_.part(part.begin - elements_.begin, part.size());
  return held == news.values.part(part.begin - news.first_element, part.size());
}

void arriving_tensor::store(const tensor_piece& news, const index_range& part,
                            const tensor_memory& memory) {
  if (sink_)
    return sink_(of_, part.begin, news.values.part(part.begin - news.first_element, part.size()));
  own(memory);
  const auto source = part_of(news, part);
  const auto target = own_.storage.values().subspan(own_.place_of(part), part.size());
  if (source.data() != target.data()) // a version is written where replicas read it
    copy_values(source, target.begin());
}

// Takes memory of its own; values that are here move there.
void arriving_tensor::own(const tensor_memory& memory) {
  if (own_.storage)
    return;
  own_ = memory(of_);
  for_each_needed(elements_, [this](const index_range& one) {
    if (!own_.covers(one))
      throw std::invalid_argument("arriving_tensor: memory for " + std::to_string(one.end) +
                                  " elements is too small");
  });
  const auto to = own_.storage.values();
  for (const auto& range : here_.ranges())
    copy_values(shared_.part(range.begin - elements_.begin, range.size()).values(),
                to.subspan(own_.place_of(range), range.size()).begin());
  shared_ = {};
}

float_view arriving_tensor::values() const {
  if (!own_.storage)
    return shared_;
  if (needed_)
    return {own_.storage, 0, own_.storage.size()};
  return own_.part(elements_);
}

} // namespace troupe
