#include "coordinators/links/name_registry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <random>
#include <utility>

namespace troupe::name_registry_test {
namespace {

using namespace std::chrono_literals;
using advice = name_registry::advice;

const process_identity one{"host-1", 1};
const process_identity other{"host-2", 2};

TEST(name_registry, a_name_has_one_holder) {
  name_registry names{5s};
  EXPECT_EQ(names.on_candidate("b", one, 1), advice::let_in);
  EXPECT_EQ(names.on_candidate("b", other, 2), advice::later);
  EXPECT_EQ(names.on_candidate("c", other, 3), advice::let_in);
  EXPECT_FALSE(names.on_opened("b", other, 2, moment{}));
  EXPECT_TRUE(names.on_opened("b", one, 1, moment{}));
  EXPECT_EQ(names.on_candidate("b", other, 4), advice::later) << "it is being introduced";
  EXPECT_FALSE(names.on_introduced("b", 2));
  EXPECT_TRUE(names.on_introduced("b", 1));
  EXPECT_EQ(names.on_candidate("b", other, 5), advice::ask_holder);
  names.on_lost("b");
  EXPECT_EQ(names.on_candidate("b", other, 6), advice::let_in);
}

TEST(name_registry, a_promise_that_is_not_kept_is_void) {
  name_registry names{5s};
  names.on_candidate("b", one, 1);
  names.on_withdrawn(7);
  EXPECT_EQ(names.on_candidate("b", other, 2), advice::later);
  names.on_withdrawn(1);
  EXPECT_EQ(names.on_candidate("b", other, 3), advice::let_in);
  names.on_opened("b", other, 3, moment{});
  names.on_introduced("b", 3);
  names.on_withdrawn(3);
  EXPECT_EQ(names.on_candidate("b", one, 4), advice::ask_holder);
}

TEST(name_registry, a_process_never_meets_its_own_name) {
  name_registry names{5s};
  names.on_candidate("b", one, 1);
  EXPECT_EQ(names.on_candidate("b", one, 2), advice::later) << "its gate still has the first";
  names.on_opened("b", one, 1, moment{});
  EXPECT_EQ(names.on_candidate("b", one, 3), advice::replace);
  names.on_introduced("b", 1);
  EXPECT_EQ(names.on_candidate("b", one, 4), advice::replace);
  const process_identity twin{one.process, 9};
  EXPECT_EQ(names.on_candidate("b", twin, 5), advice::ask_holder) << "another life is another one";
}

TEST(name_registry, counts_names_that_are_promised_or_held) {
  name_registry names{5s};
  const auto count = [&] { return names.count_if([](const std::string& x) { return x != "b"; }); };
  names.on_candidate("b", one, 1);
  EXPECT_EQ(count(), 0u);
  names.on_candidate("c", other, 2);
  names.on_opened("d", other, 3, moment{});
  EXPECT_EQ(count(), 2u);
  names.on_withdrawn(2);
  names.on_lost("d");
  EXPECT_EQ(count(), 0u);
}

TEST(name_registry, an_opened_connection_is_overdue_at_its_deadline) {
  name_registry names{5s};
  EXPECT_TRUE(names.on_opened("b", one, 1, moment{} + 1s)) << "dialled: nobody asked before";
  names.on_candidate("c", other, 2);
  EXPECT_TRUE(names.overdue(moment{} + 5999ms).empty());
  EXPECT_EQ(names.overdue(moment{} + 6s), std::vector<uint64_t>{1});
  names.on_introduced("b", 1);
  EXPECT_TRUE(names.overdue(moment{} + 1h).empty()) << "a promise is the gate's to end";
}

// Two processes that make a link over a wire that stalls, by seeds: each side has a name registry, and
// does what its gate and links would. Whatever stalls, and when, the dialling one never meets its
// own name, and both are linked over one connection soon after the wire is whole.

constexpr milliseconds deadline{5'000};   // of a hello, and of the introductions
constexpr milliseconds lost_after{5'000}; // a link without a sign of life
constexpr milliseconds dial_delay{2'000}; // the longest

enum class word { hello, later, let_in, go_on, shown, introduction, answer, end };
enum class stage { hello, opened, linked, gone };

struct message {
  uint64_t connection = 0;
  word what = word::hello;
};

/// What one side knows of a connection.
struct end_point {
  stage at = stage::hello;
  moment due; ///< of its hello
  moment silent_since{};
  moment silent_until{}; ///< what it says arrives no sooner
  moment last_arrival{}; ///< nothing overtakes on one connection
};

struct side {
  name_registry names{deadline};
  process_identity who;
  std::map<uint64_t, end_point> ends; ///< by connection, whose number is the ticket
};

class world {
public:
  explicit world(uint64_t seed) : random_(seed) {
    sides_[0].who = {"acceptor", 1};
    sides_[1].who = {"dialler", 2};
  }

  /// Stalls until `quiet`, and then only time.
  void run(moment quiet, moment end) {
    for (; now_ < end; now_ += milliseconds{1 + random_() % 20}) {
      if (now_ < quiet && random_() % 50 == 0)
        stall();
      if (now_ < quiet && random_() % 200 == 0)
        break_links();
      dial();
      for (size_t i : {0, 1}) {
        receive(i);
        look_at_time(i);
      }
    }
  }

  bool has_met_its_own_name() const { return has_met_its_own_name_; }
  bool is_linked() const {
    return std::ranges::any_of(sides_[0].ends, [&](const auto& x) {
      const auto there = sides_[1].ends.find(x.first);
      return x.second.at == stage::linked && there != sides_[1].ends.end() &&
             there->second.at == stage::linked;
    });
  }
  uint64_t connection_count() const { return last_; }

private:
  /// The newest connection, one way or both; now and then for good.
  void stall() {
    const milliseconds length =
      deadline * static_cast<int>(random_() % 4 == 0 ? 1'000 : 1 + random_() % 3);
    const auto which = random_() % 3;
    for (size_t i : {0, 1})
      if (which != i && sides_[i].ends.contains(last_) &&
          sides_[i].ends[last_].silent_until <= now_) {
        sides_[i].ends[last_].silent_since = now_;
        sides_[i].ends[last_].silent_until = now_ + length;
      }
  }

  void dial() {
    if (dials_at_ && *dials_at_ <= now_) {
      dials_at_.reset();
      sides_[1].ends[++last_] = {stage::hello, now_ + deadline};
      say(1, last_, word::hello);
    }
  }

  void say(size_t from, uint64_t connection, word what) {
    auto& x = sides_[from].ends[connection];
    x.last_arrival =
      std::max({now_ + milliseconds{random_() % 30}, x.silent_until, x.last_arrival});
    wire_[1 - from].emplace(x.last_arrival, message{connection, what});
  }

  /// This side closes it, and the other is to hear it.
  void close(size_t i, uint64_t connection) {
    auto& x = sides_[i].ends[connection];
    if (std::exchange(x.at, stage::gone) == stage::gone)
      return;
    sides_[i].names.on_withdrawn(connection);
    say(i, connection, word::end);
    if (i == 1)
      dials_at_ = now_ + milliseconds{100 + random_() % dial_delay.count()};
  }

  void lose(size_t i, uint64_t connection) {
    if (sides_[i].ends[connection].at == stage::linked)
      sides_[i].names.on_lost("peer");
    close(i, connection);
  }

  /// One side notices that the link is lost.
  void break_links() {
    const auto i = random_() % 2;
    for (auto& [number, x] : sides_[i].ends)
      if (x.at == stage::linked)
        lose(i, number);
  }

  void receive(size_t i) {
    auto& waiting = wire_[i];
    while (!waiting.empty() && waiting.begin()->first <= now_) {
      const auto next = waiting.begin()->second;
      waiting.erase(waiting.begin());
      if (next.what == word::hello)
        sides_[i].ends[next.connection] = {stage::hello, now_ + deadline};
      if (sides_[i].ends[next.connection].at != stage::gone)
        hear(i, next.connection, next.what);
    }
  }

  void hear(size_t i, uint64_t connection, word what) {
    auto& self = sides_[i];
    switch (what) {
    case word::hello:
      return meet(connection);
    case word::later:
    case word::end:
      return lose(i, connection);
    case word::let_in:
      say(i, connection, word::go_on);
      return open(i, connection);
    case word::go_on:
      open(i, connection);
      return say(i, connection, word::shown);
    case word::shown:
      return say(i, connection, word::introduction);
    case word::introduction:
    case word::answer:
      if (!self.names.on_introduced("peer", connection))
        return;
      self.ends[connection].at = stage::linked;
      if (what == word::introduction)
        say(i, connection, word::answer);
    }
  }

  void open(size_t i, uint64_t connection) {
    if (sides_[i].names.on_opened("peer", sides_[1 - i].who, connection, now_))
      sides_[i].ends[connection].at = stage::opened;
    else
      close(i, connection);
  }

  void meet(uint64_t connection) {
    auto& self = sides_[0];
    const auto found = self.names.on_candidate("peer", sides_[1].who, connection);
    has_met_its_own_name_ |= found == name_registry::advice::ask_holder;
    if (found == name_registry::advice::let_in)
      return say(0, connection, word::let_in);
    if (found == name_registry::advice::replace)
      for (auto& [number, x] : self.ends)
        if (x.at == stage::opened || x.at == stage::linked)
          lose(0, number);
    say(0, connection, word::later);
    self.ends[connection].at = stage::gone;
  }

  void look_at_time(size_t i) {
    for (auto& [connection, x] : sides_[i].ends) {
      if (x.at == stage::hello && x.due <= now_)
        close(i, connection);
      const auto& far_end = sides_[1 - i].ends[connection];
      if (x.at == stage::linked && far_end.silent_since + lost_after <= now_ &&
          now_ < far_end.silent_until)
        lose(i, connection);
    }
    for (const auto ticket : sides_[i].names.overdue(now_))
      close(i, ticket);
  }

  std::mt19937_64 random_;
  moment now_{};
  std::array<side, 2> sides_;
  std::array<std::multimap<moment, message>, 2> wire_; ///< to the side of this index, by arrival
  std::optional<moment> dials_at_ = moment{};
  uint64_t last_ = 0;
  bool has_met_its_own_name_ = false;
};

TEST(name_registry_walk, a_wire_that_stalls_while_a_link_is_made_costs_its_time_only) {
  uint64_t connections = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    world x{seed};
    const auto quiet = moment{} + 30s;
    // The last stall, then whatever each side still believes, then one attempt after another.
    x.run(quiet, quiet + 3 * deadline + 2 * deadline + 3 * dial_delay);
    ASSERT_FALSE(x.has_met_its_own_name()) << "seed " << seed;
    ASSERT_TRUE(x.is_linked()) << "seed " << seed;
    connections += x.connection_count();
  }
  EXPECT_GT(connections, 2'000u) << "links were made anew";
}

} // namespace
} // namespace troupe::name_registry_test
