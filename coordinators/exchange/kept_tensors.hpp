// Kept tensors: what a process has for its peers, as long as one may ask for it.
//
//   put ---> some elements are final ---grow---> all are ---forgotten, or replaced
//                                                           by newer keys---> gone
//
// A tensor may be put while it is computed: an element is unknown to others until it is final.
// Entries are used again, so a steady state allocates nothing.

#pragma once

#include "coordinators/base/span_set.hpp"
#include "coordinators/exchange/exchange_messages.hpp"
#include "coordinators/exchange/link_limits.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// Elements [first_element, + values) of a tensor, for others.
struct kept_tensor {
  tensor_name of;
  uint64_t first_element = 0;
  float_view values;
  tensor_note note{};
  urgency haste = urgency::training;
  /// Of these elements, how many keys are kept: adding a newer one lets the oldest go. 0: all,
  /// until they are forgotten.
  size_t newest_kept = 0;
  /// In place of values: their number; the owner finds them when a piece of them may go. A
  /// checkpoint goes out from its file like this: the owner reads only what has credit, so no more
  /// is in memory, and the exchange knows no files.
  size_t elsewhere = 0;
  /// Peers get only what they ask for, so a want of it is no repair.
  bool is_fetched = false;
  /// Dropped as soon as the peer that needs it has all of it; no peer asks for it then.
  bool until_it_came = false;

  index_range elements() const {
    return {first_element, first_element + values.size() + elsewhere};
  }
  /// The values on elements within.
  float_view part(const index_range& x) const {
    return values.part(x.begin - first_element, x.size());
  }

  friend bool operator==(const kept_tensor&, const kept_tensor&) = default;
};

class kept_tensors {
public:
  /// Its values lie here, now or once they are final.
  void put(const kept_tensor& x);

  /// These elements are final now, where they were put. False when they were before, or when the
  /// same is computed anew in other memory: that counts once it is whole, and is put then.
  bool grow(const kept_tensor& x, const index_range& elements);

  /// The first elements of `x` that are not final; empty when all are.
  index_range rest_of(const kept_tensor& x) const;

  /// Drops keys that newer ones replace, by the rule of `x`.
  void drop_older(const kept_tensor& x);
  void forget(tensor_kind kind, const key_range& keys);
  /// All but what is of any term.
  void forget_terms();
  /// These elements have reached the peer that needs them.
  void have_come(const tensor_name& name, std::span<const index_range> elements);

  /// True when it was put, final or not.
  bool has(const kept_tensor& x) const { return place_of(x) < count_; }
  /// What has the values of all these elements; null when nothing has.
  const kept_tensor* find(const tensor_name& name, const index_range& elements) const;

  /// Calls `take(tensor, elements)` for all final elements of a name in these ranges.
  /// `or_newer`: of later keys, too.
  template <class Function>
  void answer(const tensor_name& name, std::span<const index_range> elements, bool or_newer,
              const Function& take) const {
    for (size_t i = 0; i < count_; ++i)
      if (is_meant(entries_[i].what.of, name, or_newer))
        for (const auto& wanted : elements)
          for (const auto& here : entries_[i].here.ranges())
            if (const auto part = shared_part(here, wanted); !part.empty())
              take(entries_[i].what, part);
  }

  /// Calls `take(tensor)` for each of this kind that is final everywhere.
  template <class Function>
  void for_each_whole(tensor_kind kind, const Function& take) const {
    for (size_t i = 0; i < count_; ++i)
      if (entries_[i].what.of.kind == kind &&
          entries_[i].here.contains(entries_[i].what.elements()))
        take(entries_[i].what);
  }

  size_t count() const { return count_; }

  friend bool operator==(const kept_tensors& a, const kept_tensors& b) {
    return a.count_ == b.count_ &&
           std::equal(a.entries_.begin(), a.entries_.begin() + static_cast<ptrdiff_t>(a.count_),
                      b.entries_.begin());
  }

private:
  struct entry {
    kept_tensor what;
    span_set here; ///< elements that are final
    span_set came; ///< elements that have reached their peer, where that counts
    friend bool operator==(const entry&, const entry&) = default;
  };

  static bool is_meant(const tensor_name& here, const tensor_name& wanted, bool or_newer);
  /// The entry with this name and these elements; `count_` when there is none.
  size_t place_of(const kept_tensor& x) const;
  bool is_replaced(const kept_tensor& x, size_t newest_kept) const;
  template <class Predicate>
  void erase_if(const Predicate& is_gone);

  std::vector<entry> entries_; ///< those from `count_` on are empty, for use
  size_t count_ = 0;
};

} // namespace troupe
