#include "coordinators/clients/round_server.hpp"

#include <gtest/gtest.h>

#include <algorithm>

using namespace troupe;
using namespace std::chrono_literals;

namespace {

const moment begin_of_run = moment{} + 1h;

round_server_options server_options(size_t cohort) {
  round_server_options result;
  result.rounds = {5, cohort, cohort, 1, 1, milliseconds{10'000}};
  result.first_term = 100;
  return result;
}

/// A server with clients c1, c2, .. on tickets 1, 2, ..
class round_server_test : public testing::Test {
protected:
  void make(const round_server_options& wanted, uint64_t clients) {
    server.emplace(wanted);
    for (uint64_t i = 1; i <= clients; ++i)
      join(i, "c" + std::to_string(i));
    server->take_actions();
  }
  void report(uint64_t ticket, const std::string& name, uint64_t protocol = client_protocol_number,
              const std::vector<std::string>* proven = nullptr) {
    server->on_connected(ticket, now);
    server->on_report(ticket, {protocol, name, ticket}, proven, now);
  }
  void join(uint64_t ticket, const std::string& name) {
    report(ticket, name);
    server->on_here(ticket, now);
  }
  /// What was told to whom since the last call.
  std::vector<client_action> told(client_act what) {
    for (auto& x : server->take_actions())
      all.push_back(x);
    std::vector<client_action> result;
    std::ranges::copy_if(all, std::back_inserter(result),
                         [&](const auto& x) { return x.what == what; });
    all.clear();
    return result;
  }
  void hand_in(uint64_t ticket, const order_name& order) {
    server->on_ready(ticket, order, now);
    if (server->on_update(ticket, order, now))
      server->settle(ticket, receipt_kind::counted, now);
  }

  std::optional<round_server> server;
  std::vector<client_action> all;
  moment now = begin_of_run;
};

TEST_F(round_server_test, refuses_with_a_reason) {
  auto wanted = server_options(1);
  wanted.admit = "ward-*";
  make(wanted, 0);
  server->set_denied({"ward-9"});
  const std::vector<std::string> proven{"ward-2"};
  report(1, "ward-1", client_protocol_number + 1);
  report(2, "");
  report(3, "ward-1", client_protocol_number, &proven);
  report(4, "north");
  report(5, "ward-9");
  report(6, "ward-2", client_protocol_number, &proven);
  const auto actions = server->take_actions();
  ASSERT_EQ(actions.size(), 6);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(actions[i].what, client_act::over);
    EXPECT_EQ(actions[i].ticket, i + 1);
    EXPECT_EQ(actions[i].code, i == 0 ? 76 : 77);
    EXPECT_FALSE(actions[i].text.empty());
  }
  EXPECT_EQ(actions[5].what, client_act::plan);
}

TEST_F(round_server_test, a_newer_connection_of_a_name_wins_and_gets_its_order_again) {
  make(server_options(1), 1);
  server->open(0, now);
  const auto orders = told(client_act::order);
  ASSERT_EQ(orders.size(), 1);
  report(7, "c1");
  auto actions = server->take_actions();
  ASSERT_EQ(actions.size(), 2);
  EXPECT_EQ(actions[0].what, client_act::close);
  EXPECT_EQ(actions[0].ticket, 1);
  EXPECT_EQ(actions[1].what, client_act::plan);
  server->on_gone(1); // of the older one: too late to matter
  server->on_here(7, now);
  const auto again = told(client_act::order);
  ASSERT_EQ(again.size(), 1);
  EXPECT_EQ(again[0].ticket, 7);
  EXPECT_EQ(again[0].order, orders[0].order);
  hand_in(7, again[0].order);
  EXPECT_TRUE(server->is_over(now));
}

TEST_F(round_server_test, a_client_that_is_back_is_waited_for_again) {
  make(server_options(2), 2);
  server->open(0, now);
  const auto order = told(client_act::order).at(0).order;
  server->on_gone(1);
  join(7, "c1");
  hand_in(2, order);
  EXPECT_FALSE(server->is_over(now));
  hand_in(7, order);
  EXPECT_TRUE(server->is_over(now));
}

TEST_F(round_server_test, an_update_counts_once_and_of_its_attempt_alone) {
  make(server_options(2), 2);
  server->open(3, now);
  const auto order = told(client_act::order).at(0).order;
  EXPECT_EQ(order, (order_name{3, 101}));
  server->on_ready(1, {3, 100}, now); // of an earlier life
  server->on_ready(1, {2, 101}, now);
  auto receipts = told(client_act::receipt);
  ASSERT_EQ(receipts.size(), 2);
  EXPECT_EQ(receipts[0].receipt, receipt_kind::stale);
  EXPECT_EQ(receipts[1].receipt, receipt_kind::stale);
  hand_in(1, order);
  EXPECT_EQ(told(client_act::receipt).at(0).receipt, receipt_kind::counted);
  server->on_ready(1, order, now);
  EXPECT_EQ(told(client_act::receipt).at(0).receipt, receipt_kind::surplus);
  EXPECT_EQ(server->on_update(1, order, now), std::nullopt);
  EXPECT_EQ(server->on_update(2, order, now), std::nullopt); // without a place
  EXPECT_FALSE(server->is_over(now));
}

TEST_F(round_server_test, places_are_few_and_end) {
  auto wanted = server_options(5);
  wanted.places = 2;
  wanted.silence_max = milliseconds{3'600'000};
  make(wanted, 5);
  server->open(0, now);
  const auto order = told(client_act::order).at(0).order;
  for (uint64_t i = 1; i <= 5; ++i)
    server->on_ready(i, order, now);
  EXPECT_EQ(told(client_act::send).size(), 2);
  server->on_update(1, order, now);
  server->settle(1, receipt_kind::counted, now);
  EXPECT_EQ(told(client_act::send).at(0).ticket, 3);
  server->on_gone(3);
  server->tick(now);
  EXPECT_EQ(told(client_act::send).at(0).ticket, 4);
  now += wanted.place_time - 1ms;
  server->tick(now);
  EXPECT_EQ(told(client_act::close).size(), 0);
  now += 1ms;
  server->tick(now);
  EXPECT_EQ(told(client_act::close).size(), 2);
  server->on_ready(5, order, now);
  EXPECT_EQ(server->on_update(5, order, now), std::optional<uint64_t>{0});
}

TEST_F(round_server_test, a_place_outlives_its_round_and_ends) {
  auto wanted = server_options(1);
  wanted.silence_max = milliseconds{3'600'000};
  wanted.rounds.invited_max = 2;
  wanted.places = 2;
  make(wanted, 2);
  server->open(0, now);
  const auto order = told(client_act::order).at(0).order;
  server->on_ready(1, order, now);
  server->on_ready(2, order, now);
  ASSERT_EQ(told(client_act::send).size(), 2);
  server->on_update(1, order, now);
  server->settle(1, receipt_kind::counted, now);
  ASSERT_TRUE(server->is_over(now));
  server->close(now);
  server->open(1, now);
  now += wanted.place_time;
  server->tick(now);
  EXPECT_EQ(told(client_act::close).at(0).ticket, 2);
}

TEST_F(round_server_test, who_is_here_when_the_time_is_over_takes_part) {
  auto wanted = server_options(3);
  make(wanted, 2);
  server->open(0, now);
  EXPECT_FALSE(server->is_over(now + 9'999ms));
  EXPECT_FALSE(server->is_over(now + 10s)); // it begins instead
  EXPECT_EQ(told(client_act::order).size(), 2);
}

TEST_F(round_server_test, says_who_was_missing_when_a_round_closes) {
  auto wanted = server_options(2);
  wanted.rounds.invited_max = 4;
  make(wanted, 4);
  server->open(0, now);
  const auto order = told(client_act::order).at(0).order;
  server->on_gone(4);
  hand_in(1, order);
  hand_in(2, order);
  ASSERT_TRUE(server->is_over(now));
  const auto full = server->close(now);
  EXPECT_EQ(full.invited, 4);
  EXPECT_EQ(full.dropped, 1);
  EXPECT_EQ(full.lost, std::vector<std::string>{"c4"});
  EXPECT_EQ(full.surplus, 1);
  EXPECT_EQ(full.late, 0);
  told(client_act::receipt);
  server->on_ready(3, order, now);
  EXPECT_EQ(told(client_act::receipt).at(0).receipt, receipt_kind::surplus);

  server->open(1, now);
  now += 10s;
  server->tick(now);
  const auto second = told(client_act::order).at(0).order;
  now += 10s;
  ASSERT_TRUE(server->is_over(now));
  const auto late = server->close(now);
  EXPECT_EQ(late.late, 3);
  server->on_ready(3, second, now);
  EXPECT_EQ(told(client_act::receipt).at(0).receipt, receipt_kind::late);
}

TEST_F(round_server_test, says_who_is_here_and_what_a_round_waits_for) {
  auto wanted = server_options(2);
  wanted.rounds.invited_max = 4;
  make(wanted, 3);
  EXPECT_EQ(server->presence(), (client_presence{.here = 3, .wanted = 4}));
  server->open(0, now);
  EXPECT_EQ(server->presence(), (client_presence{.here = 3, .wanted = 4, .gathers = true}));
  EXPECT_EQ(awaited_of(server->presence()), "clients: 3 of 4 here");
  join(4, "c4");
  EXPECT_EQ(server->presence(), (client_presence{.here = 4, .wanted = 4, .invited = 4}));
  hand_in(2, told(client_act::order).at(0).order);
  server->on_gone(3);
  EXPECT_EQ(server->presence(),
            (client_presence{.here = 3, .wanted = 4, .invited = 4, .answered = 1}));
  EXPECT_EQ(awaited_of(server->presence()), "updates: 1 of 4");
  server->close(now);
  EXPECT_EQ(server->presence(), (client_presence{.here = 3, .wanted = 4}));
}

TEST_F(round_server_test, silent_connections_are_dropped_and_others_are_pinged) {
  const auto wanted = server_options(1);
  make(wanted, 1);
  server->on_connected(9, now);
  now += wanted.report_time;
  server->on_heard(9, now); // it does not help to say nothing often
  server->tick(now);
  EXPECT_EQ(told(client_act::close).at(0).ticket, 9);
  now = begin_of_run + wanted.ping_every;
  server->tick(now);
  EXPECT_EQ(told(client_act::ping).at(0).ticket, 1);
  server->tick(now + 1ms);
  EXPECT_EQ(told(client_act::ping).size(), 0);
  now = begin_of_run + wanted.silence_max;
  server->tick(now);
  EXPECT_EQ(told(client_act::close).at(0).ticket, 1);
  EXPECT_EQ(server->presence().here, 0);
}

TEST_F(round_server_test, more_clients_than_there_is_room_for_wait) {
  auto wanted = server_options(1);
  wanted.clients_max = 2;
  make(wanted, 2);
  report(3, "c3");
  const auto waiting = told(client_act::wait);
  ASSERT_EQ(waiting.size(), 1);
  EXPECT_EQ(waiting[0].ticket, 3);
  report(4, "c2"); // has a place already
  EXPECT_EQ(told(client_act::plan).at(0).ticket, 4);
}

TEST_F(round_server_test, all_hear_that_it_is_over_later_ones_too) {
  make(server_options(1), 2);
  server->end(0, "training has ended");
  EXPECT_EQ(told(client_act::over).size(), 2);
  report(3, "c3");
  EXPECT_EQ(told(client_act::over).at(0).text, "training has ended");
}

TEST_F(round_server_test, a_client_put_on_the_list_is_sent_away) {
  make(server_options(2), 2);
  server->open(0, now);
  const auto order = told(client_act::order).at(0).order;
  server->set_denied({"c2"});
  EXPECT_EQ(told(client_act::over).at(0).ticket, 2);
  server->on_ready(2, order, now);
  EXPECT_TRUE(server->take_actions().empty());
  hand_in(1, order);
  EXPECT_TRUE(server->is_over(now)); // nobody else is left
}

} // namespace
