// Not schedules by seed but all of them: two exchanges, a few pieces, messages in any order, and a
// few losses, copies, damages, ticks and broken links wherever they can befall. From each world
// that is reached, undisturbed, everything arrives as it was published.

#include "tests/support/exchange/exchange_wire.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iostream>
#include <set>
#include <string>
#include <unordered_map>

namespace troupe::exchange_walk_test {
namespace {

using namespace test;
using namespace std::chrono_literals;

constexpr std::array peers{peer_id{1}, peer_id{2}};

struct walk_budget {
  unsigned losses = 0, copies = 0, damages = 0, ticks = 0, cuts = 0;
  friend bool operator==(const walk_budget&, const walk_budget&) = default;
};

struct walk_message {
  size_t to = 0;
  bool is_damaged = false;
  std::variant<tensor_piece, tensor_want, send_stamp, send_credit> what;
};

/// Enough to tell two messages apart.
std::string text_of(const walk_message& x) {
  std::string result = std::to_string(x.to) + (x.is_damaged ? "!" : ":");
  const auto add = [&](auto... numbers) { ((result += std::to_string(numbers) + ","), ...); };
  const auto add_name = [&](const tensor_name& n) {
    add(static_cast<int>(n.kind), n.key, n.node.begin, n.node.end, n.part);
  };
  add(x.what.index());
  if (const auto* piece = std::get_if<tensor_piece>(&x.what)) {
    add_name(piece->of);
    add(piece->first_element, piece->values.size(), piece->stamp.link, piece->stamp.bytes);
  } else if (const auto* want = std::get_if<tensor_want>(&x.what)) {
    add_name(want->of);
    for (const auto& range : want->elements)
      add(range.begin, range.end);
  } else if (const auto* stamp = std::get_if<send_stamp>(&x.what)) {
    add(stamp->what.link, stamp->what.bytes);
  } else {
    const auto& seen = std::get<send_credit>(x.what).what;
    add(seen.link, seen.bytes);
  }
  return result;
}

struct walk_world;
using walk_script = std::vector<std::function<void(walk_world&)>>;

/// What may happen next; a world is the list of what did.
struct walk_event {
  enum class kind { go_on, deliver, lose, copy, damage, tick, cut } what = kind::go_on;
  size_t index = 0; ///< of the message, or of the exchange
};

struct walk_world {
  std::array<tensor_exchange, 2> ends{
    tensor_exchange{{.window_bytes = 2 * sizeof(float), .piece_elements = 2}},
    tensor_exchange{{.window_bytes = 2 * sizeof(float), .piece_elements = 2}}};
  std::vector<walk_message> wire;
  walk_budget left;
  size_t script_place = 0;
  moment now{};
  uint64_t last_link = 0;
  std::set<tensor_name> arrived;
  std::string problem;

  void open_link() {
    for (size_t i = 0; i < 2; ++i)
      ends[i].link_opened(peers[1 - i], ++last_link, true);
  }

  void on(const walk_event& event, const walk_script& script) {
    using enum walk_event::kind;
    switch (event.what) {
    case go_on:
      script[script_place++](*this);
      break;
    case deliver:
      take(event.index);
      break;
    case lose:
      --left.losses;
      wire.erase(wire.begin() + static_cast<std::ptrdiff_t>(event.index));
      break;
    case copy:
      --left.copies;
      wire.push_back(wire[event.index]);
      break;
    case damage:
      --left.damages;
      hit(wire[event.index]);
      break;
    case tick:
      left.ticks -= left.ticks > 0 ? 1 : 0;
      now += 2500ms;
      ends[event.index].tick(now);
      break;
    case cut:
      --left.cuts;
      wire.clear();
      open_link();
    }
    carry_out();
  }

  std::string signature() const {
    std::vector<std::string> texts;
    for (const auto& message : wire)
      texts.push_back(text_of(message));
    std::ranges::sort(texts);
    std::string result = std::to_string(script_place) + " " + std::to_string(arrived.size());
    for (const auto& text : texts)
      result += " " + text;
    return result;
  }

  friend bool operator==(const walk_world& a, const walk_world& b) {
    return a.ends == b.ends && a.left == b.left && a.now == b.now && a.arrived == b.arrived;
  }

private:
  static void hit(walk_message& x) {
    x.is_damaged = true;
    auto& piece = std::get<tensor_piece>(x.what);
    piece = over_the_wire(piece, 5);
  }

  void take(size_t index) {
    const auto message = wire[index];
    wire.erase(wire.begin() + static_cast<std::ptrdiff_t>(index));
    auto& to = ends[message.to];
    const auto from = peers[1 - message.to];
    if (const auto* piece = std::get_if<tensor_piece>(&message.what)) {
      const auto verdict = to.on_piece(from, *piece, now);
      if (verdict == piece_verdict::conflict ||
          (message.is_damaged && verdict == piece_verdict::accepted))
        problem = "what is damaged was taken";
    } else if (const auto* want = std::get_if<tensor_want>(&message.what))
      to.on_want(from, *want, now);
    else if (const auto* stamp = std::get_if<send_stamp>(&message.what))
      to.on_stamp(from, stamp->what);
    else
      to.on_credit(from, std::get<send_credit>(message.what).what, now);
  }

  void carry_out() {
    std::vector<exchange_effect> effects;
    for (size_t i = 0; i < 2; ++i) {
      ends[i].take_effects(effects);
      for (const auto& effect : effects)
        if (const auto* piece = std::get_if<send_piece>(&effect))
          wire.push_back({1 - i, false, over_the_wire(piece->what, {})});
        else if (const auto* want = std::get_if<send_want>(&effect))
          wire.push_back({1 - i, false, want->what});
        else if (const auto* stamp = std::get_if<send_stamp>(&effect))
          wire.push_back({1 - i, false, *stamp});
        else if (const auto* seen = std::get_if<send_credit>(&effect))
          wire.push_back({1 - i, false, *seen});
        else if (const auto* news = std::get_if<tensor_arrived>(&effect))
          on_arrived(*news);
      if (ends[i].figures().bytes_under_way > 2 * sizeof(float))
        problem = "more is under way than there is credit";
    }
  }

  void on_arrived(const tensor_arrived& news) {
    if (!is_true(news.of, news.elements.begin, news.values) ||
        news.values.size() != news.elements.size())
      problem = "not what was published";
    if (!arrived.insert(news.of).second)
      problem = "it arrived twice";
  }
};

/// All worlds that a script and a budget lead to, breadth first; each is found again by its events.
class exchange_walk {
public:
  exchange_walk(walk_script script, const walk_budget& budget, std::set<tensor_name> in_the_end)
    : script_(std::move(script)), budget_(budget), in_the_end_(std::move(in_the_end)) {}

  std::string run() {
    find({});
    for (size_t i = 0; i < paths_.size() && problem_.empty(); ++i) {
      const auto events = paths_[i];
      const auto here = replay(events);
      check(here);
      for (const auto& event : events_in(here)) {
        auto next = events;
        next.push_back(event);
        find(next);
      }
      if (paths_.size() > 400'000)
        return "too many worlds to see all";
    }
    return problem_;
  }

  size_t world_count() const { return paths_.size(); }

private:
  using path = std::vector<walk_event>;

  walk_world replay(const path& events) const {
    walk_world result;
    result.left = budget_;
    result.open_link();
    for (auto& end : result.ends)
      end.begin_term(1);
    for (const auto& event : events)
      result.on(event, script_);
    return result;
  }

  void find(const path& events) {
    auto here = replay(events);
    auto& same = known_[here.signature()];
    if (std::ranges::find(same, here) != same.end())
      return;
    same.push_back(std::move(here));
    paths_.push_back(events);
  }

  std::vector<walk_event> events_in(const walk_world& x) const {
    using enum walk_event::kind;
    std::vector<walk_event> result;
    if (x.script_place < script_.size())
      result.push_back({go_on, 0});
    for (size_t i = 0; i < x.wire.size(); ++i) {
      result.push_back({deliver, i});
      if (x.left.losses > 0)
        result.push_back({lose, i});
      if (x.left.copies > 0)
        result.push_back({copy, i});
      if (x.left.damages > 0 && !x.wire[i].is_damaged &&
          std::holds_alternative<tensor_piece>(x.wire[i].what))
        result.push_back({damage, i});
    }
    for (size_t i = 0; i < 2 && x.left.ticks > 0; ++i)
      result.push_back({tick, i});
    if (x.left.cuts > 0)
      result.push_back({cut, 0});
    return result;
  }

  // Undisturbed to the end.
  void check(walk_world here) {
    using enum walk_event::kind;
    for (int round = 0; round < 40; ++round) {
      while (here.script_place < script_.size())
        here.on({go_on, 0}, script_);
      while (!here.wire.empty())
        here.on({deliver, 0}, script_);
      here.on({tick, static_cast<size_t>(round % 2)}, script_);
      if (here.wire.empty() && is_done(here))
        break;
    }
    problem_ = here.problem;
    if (problem_.empty() && !is_done(here))
      problem_ = "something never arrives: " + std::to_string(here.arrived.size()) + " of " +
                 std::to_string(in_the_end_.size());
  }

  bool is_done(const walk_world& x) const { return std::ranges::includes(x.arrived, in_the_end_); }

  walk_script script_;
  walk_budget budget_;
  std::set<tensor_name> in_the_end_;
  std::unordered_map<std::string, std::vector<walk_world>> known_;
  std::vector<path> paths_;
  std::string problem_;
};

size_t explore(walk_script script, const walk_budget& budget, std::set<tensor_name> in_the_end) {
  exchange_walk walk{std::move(script), budget, std::move(in_the_end)};
  EXPECT_EQ(walk.run(), "");
  std::cout << walk.world_count() << " worlds\n";
  testing::Test::RecordProperty("worlds", static_cast<int>(walk.world_count()));
  return walk.world_count();
}

// ---- what is exchanged: from the first to the second ----

constexpr index_range all{0, 4};

tensor_name version(uint64_t key) {
  return {tensor_kind::parameters, 1, key};
}

tensor_name gradient(const tree_node& node) {
  return {tensor_kind::gradient, 1, 0, node};
}

kept_tensor kept(const tensor_name& name) {
  return {name, 0, true_values(name, all), true_note(name)};
}

/// Two pieces.
void publish(walk_world& w, kept_tensor x) {
  const tensor_route route{peers[1], all};
  w.ends[0].publish(x, {&route, 1}, w.now);
}

void expect(walk_world& w, expectation what) {
  what.elements = all;
  what.memory = [](const tensor_name&) { return float_window{buffer{all.size()}}; };
  what.sources = {{peers[0], all, {0, what.leaf_count}}};
  w.ends[1].expect(std::move(what), w.now);
}

TEST(exchange_walk, versions_arrive_one_by_one_and_the_last_always) {
  const auto publish_version = [](uint64_t key) {
    return [key](walk_world& w) {
      auto x = kept(version(key));
      x.newest_kept = 2;
      publish(w, x);
    };
  };
  const auto begin = [](walk_world& w) {
    expect(w, {.kind = tensor_kind::parameters, .newest = true, .last_key = 1});
  };
  const walk_script script{begin, publish_version(0), publish_version(1)};
  EXPECT_GT(explore(script, {.losses = 2, .ticks = 1}, {version(1)}), 1'000u);
  EXPECT_GT(explore(script, {.copies = 1, .ticks = 1}, {version(1)}), 1'000u);
}

TEST(exchange_walk, sums_that_leave_while_they_grow_arrive_whatever_is_damaged) {
  const auto expect_sums = [](walk_world& w) {
    expect(w, {.kind = tensor_kind::gradient, .leaf_count = 2});
  };
  static const auto growing = kept(gradient({0, 2}));
  const auto grow = [](walk_world& w) {
    const tensor_route route{peers[1], all};
    w.ends[0].grow(growing, {2, 4}, {&route, 1}, w.now);
  };
  const auto end = [](walk_world& w) { publish(w, growing); };
  EXPECT_GT(
    explore({expect_sums, grow, end}, {.losses = 1, .damages = 1, .ticks = 2}, {gradient({0, 2})}),
    1'000u);
}

TEST(exchange_walk, a_link_that_breaks_costs_nothing_but_time) {
  const auto expect_state = [](walk_world& w) {
    expect(w, {.kind = tensor_kind::state, .key = 3});
  };
  const tensor_name state{tensor_kind::state, 1, 3};
  const auto publish_state = [=](walk_world& w) { publish(w, kept(state)); };
  EXPECT_GT(explore({publish_state, expect_state}, {.losses = 1, .ticks = 2, .cuts = 1}, {state}),
            1'000u);
}

} // namespace
} // namespace troupe::exchange_walk_test
