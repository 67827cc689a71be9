// A group of collective rules without actors: what they send lies in a bag, and the test says what
// arrives next. Copies of a group go their own ways. Far members are in a process each: what they send
// goes in pieces.

#pragma once

#include "coordinators/collective/collective_rule.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

namespace troupe::test {

inline float_view view_of(const std::vector<float>& values) {
  const buffer storage{values.size()};
  std::ranges::copy(values, storage.values().begin());
  return {storage, 0, values.size()};
}

inline std::vector<float> floats_of(const float_view& values) {
  return {values.values().begin(), values.values().end()};
}

struct collective_letter {
  size_t to = 0;
  std::variant<collective_part, collective_failure, collective_grant> what;
};

class collective_group {
public:
  explicit collective_group(collective_options options, bool far = false)
    : bytes(options.member_count), is_far(far) {
    for (size_t k = 0; k < options.member_count; ++k) {
      members.emplace_back(options, k);
      departing.emplace_back(options.pieces, options.deadline);
    }
  }

  void call(size_t member, const collective_call& what) {
    take(member, members[member].begin(what, now));
  }

  /// The call of each member, from its index.
  template <class Call>
  void call_all(Call call_of) {
    for (size_t k = 0; k < members.size(); ++k)
      call(k, call_of(k));
  }

  void deliver(size_t place) {
    const auto letter = bag[place];
    bag.erase(bag.begin() + static_cast<std::ptrdiff_t>(place));
    arrive(letter);
  }

  void arrive(const collective_letter& letter) {
    auto& rule = members[letter.to];
    if (const auto* const grant = std::get_if<collective_grant>(&letter.what))
      return send(letter.to, departing[letter.to].on_grant(*grant, now));
    const auto* const part = std::get_if<collective_part>(&letter.what);
    take(letter.to,
         part ? rule.on_part(*part) : rule.on_failure(std::get<collective_failure>(letter.what)));
  }

  void lose(size_t lost) {
    std::erase_if(bag, [&](const collective_letter& x) { return x.to == lost; });
    for (size_t k = 0; k < members.size(); ++k)
      if (k != lost)
        take(k, members[k].on_lost(lost, "why"));
  }

  void pass(milliseconds time) {
    now += time;
    for (size_t k = 0; k < members.size(); ++k)
      take(k, members[k].on_time(now));
  }

  /// All that is under way arrives, in some order.
  template <class Random>
  void settle(Random& random) {
    while (!bag.empty())
      deliver(random() % bag.size());
  }

  void settle() {
    while (!bag.empty())
      deliver(0);
  }

  const collective_end& end(size_t member, uint64_t round = 0) const {
    return ends.at({member, round});
  }
  std::vector<float> values(size_t member, uint64_t round = 0) const {
    return floats_of(end(member, round).values);
  }

  std::vector<collective_rule> members;
  std::vector<collective_letter> bag;
  std::map<std::pair<size_t, uint64_t>, collective_end> ends; ///< by member and round
  std::vector<size_t> bytes;                                  ///< sent by each member
  std::vector<departing_parts> departing;                     ///< of far members
  moment now{};
  bool is_far = false;

private:
  void send(size_t member, departing_parts::pieces pieces) {
    for (auto& one : pieces) {
      bytes[member] += one.piece.values.size() * sizeof(float);
      bag.push_back({one.to, std::move(one.piece)});
    }
  }

  void take(size_t member, const collective_outcome& outcome) {
    for (const auto& one : outcome.parts)
      send(member, is_far ? departing[member].add(one.to, one.part, now)
                          : departing_parts::pieces{{one.to, one.part}});
    for (const auto& one : outcome.grants)
      bag.push_back({one.to, one.grant});
    for (const auto& failure : outcome.failures)
      for (size_t k = 0; k < members.size(); ++k)
        if (k != member)
          bag.push_back({k, failure});
    for (const auto& news : outcome.ends) {
      if (!news.problem.empty())
        departing[member].drop_round(news.round);
      if (!ends.emplace(std::pair{member, news.round}, news).second)
        throw std::logic_error("a round ended twice");
    }
  }
};

} // namespace troupe::test
