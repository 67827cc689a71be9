// The world on its own, with small actors that count and talk.

#include "coordinators/job/stop_rule.hpp"
#include "tests/simulation/network.hpp"
#include "tests/simulation/trial.hpp"
#include "tests/simulation/wire_message.hpp"
#include "tests/simulation/world.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>

#include <gtest/gtest.h>

#include <algorithm>

namespace troupe::simulation {
namespace {

using namespace std::chrono_literals;

struct notes {
  std::vector<std::string> heard; ///< "b:3": b's third message, in order of arrival
  std::vector<duration> heard_at; ///< beside `heard`
  std::vector<std::string> lost;  ///< names of peers whose way was lost
  std::vector<bool> intact;       ///< of payloads
  size_t ticks = 0;
};

struct talker_state {
  static inline const char* name = "talker";
  std::map<std::string, node_actor> ways;
  uint64_t sent = 0;
};

/// Tells every peer how many messages it has sent, every 10 ms.
caf::behavior talker(caf::stateful_actor<talker_state>* self, std::string name, notes* book) {
  self->set_down_handler([=](const caf::down_msg& down) {
    for (const auto& [peer, way] : self->state.ways)
      if (way.address() == down.source)
        book->lost.push_back(peer);
    std::erase_if(self->state.ways,
                  [&](const auto& entry) { return entry.second.address() == down.source; });
  });
  self->delayed_send(self, 10ms, atom::begin_v);
  return {
    [=](const std::string& peer, uint64_t, const node_actor& way) {
      self->monitor(way);
      self->state.ways[peer] = way;
    },
    [=](atom::begin) {
      self->delayed_send(self, 10ms, atom::begin_v);
      ++book->ticks;
      ++self->state.sent;
      for (const auto& [peer, way] : self->state.ways)
        caf::anon_send(
          way,
          sent_want{{{name, false}, {{tensor_kind::block_sums, 1, self->state.sent}, {}, false}}});
    },
    [=](atom::pull, const payload&) {},
    [=](const sent_want& news) {
      book->heard.push_back(news.by.process + ":" + std::to_string(news.what.of.key));
      book->heard_at.push_back(self->clock().now().time_since_epoch() - 1h);
    },
    [=](const sent_piece& news) { book->intact.push_back(news.what.values.intact()); },
  };
}

class talking_machines : public ::testing::Test {
protected:
  void start(uint64_t seed, size_t count, wire_options options = {}) {
    wires.reset();
    here.reset();
    records.clear();
    lines.clear();
    here.emplace(system.get(), seed, [this](duration when, const std::string& line) {
      lines.push_back(std::to_string(when.count()) + " " + line);
    });
    wires.emplace(*here, options, [this](const network::link_news& news) {
      caf::anon_send(caf::actor_cast<caf::actor>(actors[news.self]), here->name_of(news.peer),
                     news.number, caf::actor_cast<node_actor>(news.way));
    });
    actors.resize(count);
    for (machine_id x = 0; x < count; ++x) {
      here->add_machine(std::string(1, static_cast<char>('a' + x)));
      records.push_back(std::make_unique<notes>());
      boot(x);
    }
    for (machine_id x = 0; x < count; ++x)
      for (machine_id y = x + 1; y < count; ++y)
        wires->join(x, y);
  }

  void boot(machine_id x) {
    here->boot(x);
    here->act_on(x, [&] {
      actors[x] = caf::actor_cast<caf::strong_actor_ptr>(
        system.get().spawn(talker, here->name_of(x), records[x].get()));
    });
    wires->set_address(x, actors[x]);
  }

  void run_for(duration length) {
    here->run([] { return false; }, here->now() + length);
  }

  size_t heard_from(machine_id self, char peer, duration from, duration to) const {
    size_t count = 0;
    for (size_t i = 0; i < records[self]->heard.size(); ++i)
      count += records[self]->heard[i][0] == peer && records[self]->heard_at[i] >= from &&
               records[self]->heard_at[i] < to;
    return count;
  }

  testing_system system;
  std::optional<world> here;
  std::optional<network> wires;
  std::vector<caf::strong_actor_ptr> actors;
  std::vector<std::unique_ptr<notes>> records;
  std::vector<std::string> lines;

  void TearDown() override {
    wires.reset();
    here.reset();
  }
};

TEST_F(talking_machines, time_moves_only_when_nobody_can_run) {
  start(1, 1);
  run_for(1s);
  EXPECT_EQ(records[0]->ticks, 99u);
  EXPECT_EQ(here->elapsed(), 1s);
}

TEST_F(talking_machines, one_seed_is_one_run) {
  std::vector<uint64_t> fingerprints;
  std::vector<std::vector<std::string>> traces;
  for (uint64_t seed : {7, 7, 8}) {
    start(seed, 3);
    run_for(300ms);
    fingerprints.push_back(here->fingerprint());
    traces.push_back(lines);
  }
  EXPECT_EQ(fingerprints[0], fingerprints[1]);
  EXPECT_EQ(traces[0], traces[1]);
  EXPECT_NE(fingerprints[0], fingerprints[2]);
  EXPECT_NE(traces[0], traces[2]);
}

TEST_F(talking_machines, order_is_kept_within_a_pair_and_direction_only) {
  start(3, 3, {.delay_min = 1ms, .delay_max = 200ms});
  run_for(2s);
  std::map<char, uint64_t> last;
  bool overtaken = false;
  uint64_t newest = 0;
  for (const auto& line : records[0]->heard) {
    const auto number = std::stoull(line.substr(2));
    EXPECT_GT(number, last[line[0]]);
    last[line[0]] = number;
    overtaken = overtaken || number < newest;
    newest = std::max<uint64_t>(newest, number);
  }
  EXPECT_TRUE(overtaken);
  EXPECT_EQ(wires->lost_count(), 0u);
  EXPECT_GT(records[0]->heard.size(), 200u);
}

TEST_F(talking_machines, a_crashed_machine_is_silent_and_soon_missed) {
  start(4, 3);
  run_for(500ms);
  here->crash(1);
  wires->machine_crashed(1);
  const auto ticks = records[1]->ticks;
  run_for(500ms);
  EXPECT_EQ(records[1]->ticks, ticks);
  EXPECT_EQ(records[0]->lost, std::vector<std::string>{"b"});
  EXPECT_EQ(records[2]->lost, std::vector<std::string>{"b"});
  EXPECT_TRUE(records[1]->lost.empty());
  EXPECT_EQ(heard_from(0, 'b', 505ms, 1s), 0u);
  EXPECT_EQ(here->living_actors(), (std::vector<std::string>{"a's talker", "c's talker"}));
}

TEST_F(talking_machines, a_machine_that_comes_back_gets_new_links) {
  start(5, 2);
  run_for(300ms);
  here->crash(1);
  wires->machine_crashed(1);
  run_for(300ms);
  boot(1);
  run_for(1s);
  EXPECT_GT(heard_from(0, 'b', 1200ms, 1600ms), 30u);
  EXPECT_EQ(records[0]->lost.size(), 1u);
}

TEST_F(talking_machines, silence_is_noticed_after_lost_after) {
  start(6, 2);
  run_for(100ms);
  here->crash(1);
  wires->machine_vanished(1);
  run_for(4900ms);
  EXPECT_TRUE(records[0]->lost.empty());
  run_for(1200ms);
  EXPECT_EQ(records[0]->lost.size(), 1u);
}

TEST_F(talking_machines, a_short_freeze_only_delays) {
  start(7, 2);
  run_for(500ms);
  here->freeze(1);
  wires->machine_freezes(1, 2s);
  run_for(2s);
  EXPECT_EQ(heard_from(0, 'b', 510ms, 2500ms), 0u);
  here->thaw(1);
  run_for(500ms);
  EXPECT_GT(heard_from(0, 'b', 2500ms, 3s), 40u);
  EXPECT_TRUE(records[0]->lost.empty());
  EXPECT_EQ(wires->lost_count(), 0u);
  EXPECT_EQ(records[1]->heard.back().substr(0, 2), "a:");
  EXPECT_GT(heard_from(1, 'a', 2500ms, 2550ms), 190u) << "what piled up while it was frozen";
}

TEST_F(talking_machines, a_long_freeze_costs_the_links_at_both_ends) {
  start(8, 2);
  run_for(500ms);
  here->freeze(1);
  wires->machine_freezes(1, 8s);
  run_for(8s);
  EXPECT_EQ(records[0]->lost.size(), 1u);
  EXPECT_TRUE(records[1]->lost.empty());
  here->thaw(1);
  run_for(2s);
  EXPECT_EQ(records[1]->lost.size(), 1u);
  EXPECT_GT(heard_from(0, 'b', 9s, 11s), 50u);
}

TEST_F(talking_machines, a_short_partition_holds_messages_back_and_loses_none) {
  start(9, 2);
  run_for(500ms);
  wires->block(0, 1, 1s);
  run_for(2s);
  EXPECT_EQ(heard_from(1, 'a', 510ms, 1500ms), 0u);
  EXPECT_GT(heard_from(0, 'b', 510ms, 1500ms), 90u);
  EXPECT_GT(heard_from(1, 'a', 1500ms, 1510ms), 95u);
  EXPECT_EQ(wires->lost_count(), 0u);
}

TEST_F(talking_machines, a_long_one_way_partition_is_noticed_first_at_the_deaf_end) {
  start(10, 2);
  run_for(500ms);
  wires->block(0, 1, 9s);
  run_for(7s);
  EXPECT_EQ(records[1]->lost.size(), 1u);
  EXPECT_EQ(records[0]->lost.size(), 1u);
  EXPECT_GT(heard_from(0, 'b', 600ms, 5400ms), 400u);
  EXPECT_EQ(heard_from(1, 'a', 510ms, 7500ms), 0u);
  const auto at = [&](const std::string& text) {
    return std::ranges::find_if(
      lines, [&](const auto& line) { return line.find(text) != std::string::npos; });
  };
  EXPECT_LT(at("b notices"), at("a notices"));
  EXPECT_FALSE(wires->is_linked(0, 1));
  run_for(4s);
  EXPECT_TRUE(wires->is_linked(0, 1));
}

TEST_F(talking_machines, a_reset_loses_what_is_under_way_and_heals) {
  start(11, 2, {.delay_min = 50ms, .delay_max = 60ms});
  run_for(1s);
  wires->reset_link(0, 1);
  run_for(2s);
  EXPECT_GT(wires->lost_count(), 4u);
  EXPECT_EQ(records[0]->lost.size(), 1u);
  EXPECT_EQ(records[1]->lost.size(), 1u);
  EXPECT_TRUE(wires->is_linked(0, 1));
}

TEST_F(talking_machines, a_slow_machine_takes_its_time_for_each_message) {
  start(12, 2);
  here->slow_down(1, 8ms);
  run_for(2s);
  const auto done = records[1]->ticks + records[1]->heard.size();
  EXPECT_LE(done, 250u);
  EXPECT_GT(done, 200u);
  EXPECT_GT(records[0]->ticks, 190u);
}

TEST_F(talking_machines, a_damaged_message_is_not_read_or_knows_it) {
  start(13, 2);
  run_for(1s);
  const auto send_piece = [&] {
    buffer values{100};
    for (size_t i = 0; i < 100; ++i)
      values.values()[i] = static_cast<float>(i);
    wires->on_arrival = [](machine_id, machine_id, const caf::message&) {};
    const tensor_piece piece{{tensor_kind::parameters, 1, 1}, 0, {values, 0, 100}, {}, {}};
    const auto way = carried(system.get(), caf::make_message(sent_piece{{{"b", false}, piece}}));
    EXPECT_TRUE(way.get_as<sent_piece>(0).what.values.intact());
    EXPECT_EQ(way.get_as<sent_piece>(0).what.values.values()[7], 7);
    const auto bad = damaged(system.get(), way, here->random());
    EXPECT_FALSE(bad && bad->get_as<sent_piece>(0).what.values.intact());
  };
  for (int i = 0; i < 200; ++i)
    send_piece();
  for (int i = 0; i < 200; ++i)
    EXPECT_FALSE(damaged(system.get(), caf::make_message(sent_want{}), here->random()));
}

TEST_F(talking_machines, what_is_no_message_between_machines_is_refused) {
  EXPECT_THROW(carried(system.get(), caf::make_message(contribution{})), std::logic_error);
}

// A thousand bytes take a millisecond.
TEST(interfaces, queue_on_the_way_out_and_on_the_way_in) {
  using namespace std::chrono_literals;
  interfaces wires{{1e6, 10ms, 4us, 1e-9}};
  const moment begin{};
  EXPECT_EQ(wires.carry(0, 2, 1000, begin) - begin, 11ms);
  EXPECT_EQ(wires.carry(1, 2, 1000, begin) - begin, 12ms) << "both come at once";
  EXPECT_EQ(wires.carry(0, 3, 1000, begin) - begin, 12ms) << "behind what it has sent before";
  EXPECT_EQ(wires.carry(0, 3, 1000, begin + 5s) - begin, 5s + 11ms);
  EXPECT_EQ(wires.options().work_of(1000), 5us);
}

TEST_F(talking_machines, timers_of_the_dead_do_not_count) {
  start(14, 2);
  run_for(100ms);
  EXPECT_EQ(here->living_timers(), 2u);
  here->crash(0);
  wires->machine_crashed(0);
  EXPECT_EQ(here->living_timers(), 1u);
}

// Workloads do what they are there for, before anything befalls them.

training_finished end_of(const std::string& name) {
  testing_system system;
  const auto& all = workloads();
  return prepare(system.get(), *std::ranges::find(all, name, &workload::name)).reference.finished;
}

TEST(workload, patience_ends_one_of_them_after_a_checkpoint_that_counts_some) {
  const auto end = end_of("patience");
  EXPECT_EQ(end.reason, static_cast<uint8_t>(stop_reason::patience));
  EXPECT_EQ(end.version, 15u) << "version 9 was the best, and 12 is checkpointed";
}

TEST(workload, the_best_version_of_one_of_them_is_in_its_midst) {
  const auto end = end_of("best");
  EXPECT_TRUE(end.is_best);
  EXPECT_EQ(end.version, 9u);
}

TEST(workload, every_one_has_its_turn_as_seeds_go_up) {
  for (size_t i = 0; i < drawn_workload_count; ++i)
    EXPECT_EQ(workload_of(i * drawn_fault_count), i);
  EXPECT_EQ(workload_of(drawn_workload_count * drawn_fault_count), 0u);
}

// A view is as long as there are processes: nobody who has reported it hears it again.
TEST(cluster, says_a_view_once_to_who_has_it) {
  using namespace std::chrono_literals;
  testing_system system;
  auto what = workloads().front().what;
  what.training.steps = 1'000'000;
  what.training.epochs = 1'000'000;
  const auto prepared = prepare(what);
  world here{system.get(), 1};
  cluster_options options;
  for (const char* name : {"a", "b", "c"})
    options.machines.push_back({name});
  options.wires.interfaces = interface_options{.latency = 20ms};
  options.speeds_change = false;
  cluster all{here, prepared, options};
  size_t heard = 0;
  all.on_view = [&](const cluster_view&) { ++heard; };
  all.boot_director();
  here.run([] { return false; }, here.now() + 5s);
  const auto before = heard;
  const auto version = all.version();
  EXPECT_GE(before, 3u);
  here.run([] { return false; }, here.now() + 10s);
  EXPECT_GT(all.version(), version + 50) << "training goes on";
  EXPECT_EQ(heard, before);
  all.shut_down();
}

} // namespace
} // namespace troupe::simulation
