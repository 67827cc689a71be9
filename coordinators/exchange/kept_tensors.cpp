#include "coordinators/exchange/kept_tensors.hpp"

#include <utility>

namespace troupe {

namespace {

/// The same elements of tensors whose names differ in the key alone.
bool is_same_lane(const kept_tensor& a, const kept_tensor& b) {
  auto name = a.of;
  name.key = b.of.key;
  return name == b.of && a.elements() == b.elements();
}

bool is_same_memory(const float_view& a, const float_view& b) {
  return a.offset() == b.offset() && a.storage().same_storage(b.storage());
}

} // namespace

template <class Predicate>
void kept_tensors::erase_if(const Predicate& is_gone) {
  size_t kept = 0;
  for (size_t i = 0; i < count_; ++i)
    if (!is_gone(entries_[i]))
      std::swap(entries_[kept++], entries_[i]);
  for (size_t i = kept; i < count_; ++i) {
    entries_[i].what = {};
    entries_[i].here.clear();
    entries_[i].came.clear();
  }
  count_ = kept;
}

size_t kept_tensors::place_of(const kept_tensor& x) const {
  for (size_t i = 0; i < count_; ++i)
    if (entries_[i].what.of == x.of && entries_[i].what.elements() == x.elements())
      return i;
  return count_;
}

void kept_tensors::put(const kept_tensor& x) {
  const auto place = place_of(x);
  if (place == entries_.size())
    entries_.emplace_back();
  count_ = std::max(count_, place + 1);
  entries_[place].what = x;
}

bool kept_tensors::grow(const kept_tensor& x, const index_range& elements) {
  const auto place = place_of(x);
  if (place == count_ || !is_same_memory(entries_[place].what.values, x.values))
    return false;
  entries_[place].what.note = x.note;
  const auto final_elements = shared_part(x.elements(), elements);
  return !final_elements.empty() && entries_[place].here.add(final_elements);
}

index_range kept_tensors::rest_of(const kept_tensor& x) const {
  const auto place = place_of(x);
  return place == count_ ? x.elements() : entries_[place].here.first_missing_in(x.elements());
}

bool kept_tensors::is_replaced(const kept_tensor& x, size_t newest_kept) const {
  size_t newer = 0;
  for (size_t i = 0; i < count_; ++i)
    newer += entries_[i].what.of.key > x.of.key && is_same_lane(entries_[i].what, x) ? 1 : 0;
  return newer >= newest_kept;
}

void kept_tensors::drop_older(const kept_tensor& x) {
  if (x.newest_kept > 0)
    erase_if([&](const entry& other) {
      return is_same_lane(other.what, x) && is_replaced(other.what, x.newest_kept);
    });
}

void kept_tensors::forget(tensor_kind kind, const key_range& keys) {
  erase_if([&](const entry& x) { return x.what.of.kind == kind && keys.contains(x.what.of.key); });
}

void kept_tensors::have_come(const tensor_name& name, std::span<const index_range> elements) {
  erase_if([&](entry& x) {
    if (x.what.of != name || !x.what.until_it_came)
      return false;
    for (const auto& range : elements)
      if (const auto own = shared_part(range, x.what.elements()); !own.empty())
        x.came.add(own);
    return x.came.contains(x.what.elements());
  });
}

void kept_tensors::forget_terms() {
  erase_if([](const entry& x) { return !is_of_any_term(x.what.of.kind); });
}

const kept_tensor* kept_tensors::find(const tensor_name& name, const index_range& elements) const {
  for (size_t i = 0; i < count_; ++i)
    if (entries_[i].what.of == name && entries_[i].here.contains(elements))
      return &entries_[i].what;
  return nullptr;
}

bool kept_tensors::is_meant(const tensor_name& here, const tensor_name& wanted, bool or_newer) {
  return here.kind == wanted.kind && here.term == wanted.term && here.part == wanted.part &&
         (here.key == wanted.key || (or_newer && here.key > wanted.key)) &&
         !shared_part(here.node, wanted.node).empty();
}

} // namespace troupe
