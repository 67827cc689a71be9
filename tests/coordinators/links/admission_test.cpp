#include "coordinators/links/admission.hpp"
#include "coordinators/links/dial_clock.hpp"
#include "coordinators/links/director_watch.hpp"
#include "coordinators/links/rate_limit.hpp"
#include "tests/support/process_facts.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace troupe::admission_test {
namespace {

using test::facts_of;

using namespace std::chrono_literals;

cluster_plan three_nodes() {
  cluster_plan plan;
  plan.nodes = {{"a", "", "", true, 1, 1}, {"b", "", "", false, 1, 0}, {"c", "", "", false, 1, 0}};
  return plan;
}

/// What both sides find, which must be the same.
verdict found_by_both(const process_facts& x, const process_facts& y) {
  const auto result = admit(x, y, three_nodes());
  EXPECT_EQ(result, admit(y, x, three_nodes()));
  return result;
}

TEST(admission, processes_of_one_run_are_admitted) {
  EXPECT_TRUE(found_by_both(facts_of("a"), facts_of("b")).is_admitted());
  EXPECT_TRUE(found_by_both(facts_of("c"), facts_of("b")).is_admitted());
}

TEST(admission, every_common_fact_counts) {
  const std::vector<std::pair<std::string process_facts::*, std::string>> facts{
    {&process_facts::version, "version"},  {&process_facts::data, "data"},
    {&process_facts::job, "job"},          {&process_facts::cluster, "cluster file"},
    {&process_facts::directive, "length"}, {&process_facts::arithmetic, "arithmetic"},
    {&process_facts::kinds, "kinds"}};
  for (const auto& [fact, word] : facts) {
    auto other = facts_of("b");
    other.*fact = "different";
    const auto found = found_by_both(facts_of("a"), other);
    EXPECT_EQ(found.kind, verdict_kind::refused);
    EXPECT_EQ(found.code, refusal_code::mismatch);
    EXPECT_NE(found.reason.find("a and b differ in their " + word), std::string::npos)
      << found.reason;
    EXPECT_NE(found.reason.find("different"), std::string::npos);
  }
}

TEST(admission, other_data_are_named_before_the_job_that_differs_with_them) {
  auto other = facts_of("b");
  other.data = other.job = "different";
  EXPECT_NE(admit(facts_of("a"), other, three_nodes()).reason.find("their data"),
            std::string::npos);
}

TEST(admission, what_differs_is_named_in_words) {
  auto a = facts_of("a");
  auto b = facts_of("b");
  a.cluster = "node 2 = worker\nreplicas of node worker = 12\nsha256 = 1";
  b.cluster = "node 2 = worker\nreplicas of node worker = 1\nsha256 = 2";
  EXPECT_EQ(found_by_both(a, b).reason,
            "a and b differ in their cluster file: replicas of node worker = 12 and 1; start both "
            "with the same one, and the same settings");
  EXPECT_EQ(found_by_both(a, b).code, refusal_code::mismatch);
}

TEST(fact_words, first_difference_names_the_first_line_that_differs) {
  EXPECT_EQ(first_difference("a = 1\nb = 2", "a = 1\nb = 2"), "");
  EXPECT_EQ(first_difference("a = 1\nb = 2\nc = 3", "a = 1\nb = 4\nc = 5"), "b = 2 and 4");
  EXPECT_EQ(first_difference("a = 1\nb = 2", "a = 1"), "b = 2 and nothing");
  EXPECT_EQ(first_difference("b = 2", "a = 1\nb = 2"), "a = nothing and 1");
  EXPECT_EQ(first_difference("a = 1\nb = 2", "b = 2"), "a = 1 and nothing");
  EXPECT_EQ(first_difference("one", "another"), "one and another");
  EXPECT_EQ(first_difference("a.s = step(9 3fe0000000000000)", "a.s = step(9 3f847ae147ae147b)"),
            "a.s = step(9 0.5) and step(9 0.01)");
  EXPECT_EQ(first_difference("a.b = 3fe00000000000001", "a.b = 3fe000000000000"),
            "a.b = 3fe00000000000001 and 3fe000000000000")
    << "no 16 digits";
  EXPECT_EQ(first_difference("", "a = 1"), "a = nothing and 1");
  EXPECT_EQ(first_difference("\n\n = ", " = \x1b"), "nothing and ?") << "whatever strangers say";
}

TEST(cluster_plan, words_say_what_all_must_have_in_common) {
  auto mine = three_nodes();
  const auto differing = [&](const cluster_plan& theirs) {
    return first_difference(cluster_words(mine), cluster_words(theirs));
  };
  auto theirs = mine;
  theirs.nodes[1].address = theirs.nodes[1].listen = "10.0.0.1:7";
  theirs.insecure = true;
  EXPECT_EQ(differing(theirs), "") << "each sees the others from where it is";
  theirs.nodes[1].replica_count = 12;
  EXPECT_EQ(differing(theirs), "replicas of node b = 1 and 12");
  theirs = mine;
  theirs.nodes[2].shard_count = 1;
  EXPECT_EQ(differing(theirs), "shards of node c = 0 and 1");
  theirs = mine;
  std::swap(theirs.nodes[1], theirs.nodes[2]);
  EXPECT_EQ(differing(theirs), "node 2 = b and c");
  theirs = mine;
  theirs.nodes.pop_back();
  EXPECT_EQ(differing(theirs), "node 3 = c and nothing");
  theirs = mine;
  theirs.timeouts.join = 7s;
  EXPECT_EQ(differing(theirs), "timeouts.join = 60000 ms and 7000 ms");
  theirs = mine;
  theirs.timeouts.lost_after = 7s;
  EXPECT_NE(differing(theirs), "");
  theirs = mine;
  theirs.nodes[0].is_director = false;
  theirs.nodes[1].is_director = true;
  EXPECT_EQ(differing(theirs), "director = a and b");
  theirs = mine;
  theirs.nodes.push_back({"x", "", "", false, 1, 1, {}, false, false});
  EXPECT_EQ(differing(theirs), "") << "who joins is in its own plan alone";
  theirs.join.emplace();
  EXPECT_EQ(differing(theirs), "join.accepts = nothing and join");
  mine.join = theirs.join;
  mine.max_nodes = 5;
  theirs.max_nodes = 6;
  EXPECT_EQ(differing(theirs), "max_nodes = 5 and 6");
}

TEST(admission, a_kind_that_computes_something_else_is_named) {
  auto mine = facts_of("a"), theirs = facts_of("b");
  mine.kinds = "model wave 1 = 00\noptimizer lion 2 = 9f3a0c11d2e4b587";
  theirs.kinds = "model wave 1 = 00\noptimizer lion 2 = 11c07d5e00aa4321";
  EXPECT_NE(found_by_both(mine, theirs)
              .reason.find(
                "kinds' own arithmetic: optimizer lion 2 = 9f3a0c11d2e4b587 and 11c07d5e00aa4321"),
            std::string::npos);
}

TEST(admission, another_protocol_is_refused_whatever_else_it_says) {
  process_facts other;
  other.protocol = protocol_number + 1;
  const auto found = found_by_both(facts_of("a"), other);
  EXPECT_EQ(found.code, refusal_code::mismatch);
  EXPECT_NE(found.reason.find("protocol"), std::string::npos);
}

TEST(admission, a_name_outside_the_plan_is_refused) {
  const auto found = found_by_both(facts_of("a"), facts_of("d"));
  EXPECT_EQ(found.code, refusal_code::no_permission);
  EXPECT_EQ(found.reason, "d is not in the cluster file of a");
}

/// May join; in its own plan x is listed last, as in any process that joins.
cluster_plan open_to(const std::string& name = {}) {
  auto plan = three_nodes();
  plan.join.emplace();
  plan.max_nodes = 5;
  if (!name.empty())
    plan.nodes.push_back({name, "", "", false, 1, 1, {}, false, false});
  return plan;
}

TEST(admission, who_is_not_listed_may_come_where_the_plan_says_so) {
  EXPECT_TRUE(admit(facts_of("b"), facts_of("x"), open_to()).is_admitted());
  EXPECT_TRUE(admit(facts_of("x"), facts_of("b"), open_to("x")).is_admitted());
  EXPECT_TRUE(admit(facts_of("x"), facts_of("y"), open_to("x")).is_admitted());
  EXPECT_EQ(admit(facts_of("x"), facts_of("x"), open_to("x")), name_in_use("x"));
  auto false_director = facts_of("x");
  false_director.is_director = true;
  EXPECT_EQ(admit(facts_of("b"), false_director, open_to()).code, refusal_code::mismatch);
  auto other = facts_of("x");
  other.job = "different";
  const auto refusal = admit(facts_of("b"), other, open_to());
  EXPECT_EQ(refusal.kind, verdict_kind::refused);
  EXPECT_EQ(refusal, admit(other, facts_of("b"), open_to("x"))) << "both find the same";
  EXPECT_EQ(admit(other, facts_of("y"), open_to("x")), admit(facts_of("y"), other, open_to("y")));
  EXPECT_TRUE(ends_process({"a", refusal, true}, open_to("x"), "x"));
  EXPECT_FALSE(ends_process({"b", refusal, true}, open_to("x"), "x"));
  EXPECT_FALSE(ends_process({"x", refusal, false}, open_to(), "a"));
}

TEST(admission, who_is_not_listed_has_a_name_for_a_node) {
  for (const std::string name : {"", "X", "x y", "x\x1b[2J", "-x"}) {
    const auto found = admit(
      facts_of("b"),
      [&] {
        auto result = facts_of("x");
        result.node = name;
        return result;
      }(),
      open_to());
    EXPECT_EQ(found.code, refusal_code::no_permission) << name;
  }
  auto long_name = facts_of("x");
  long_name.node = std::string(64, 'x');
  EXPECT_FALSE(admit(facts_of("b"), long_name, open_to()).is_admitted());
}

TEST(admission, who_is_not_listed_proves_the_name_of_those_that_join) {
  auto plan = open_to();
  plan.join->accepts = "guest";
  EXPECT_TRUE(admit_proof("x", {"guest"}, plan).is_admitted());
  EXPECT_FALSE(admit_proof("x", {"x"}, plan).is_admitted());
  EXPECT_FALSE(admit_proof("x", {"b"}, plan).is_admitted());
  EXPECT_TRUE(admit_proof("b", {"b"}, plan).is_admitted());
  EXPECT_FALSE(admit_proof("b", {"guest"}, plan).is_admitted()) << "a listed name is its own";
  EXPECT_FALSE(admit_proof("x", {"guest"}, three_nodes()).is_admitted()) << "nobody may join";
}

TEST(cluster_plan, the_later_one_dials) {
  const auto plan = open_to("x");
  EXPECT_TRUE(plan.is_before("a", "b"));
  EXPECT_FALSE(plan.is_before("b", "a"));
  EXPECT_TRUE(plan.is_before("c", "x"));
  EXPECT_FALSE(plan.is_before("x", "c"));
  EXPECT_TRUE(plan.is_before("c", "aa")) << "a listed one comes before any other";
  EXPECT_TRUE(plan.is_before("x", "y"));
  EXPECT_FALSE(plan.is_before("y", "x"));
  auto last = three_nodes();
  std::swap(last.nodes[0], last.nodes[2]);
  EXPECT_TRUE(last.is_before("a", "c")) << "all dial the director";
  EXPECT_FALSE(last.is_before("c", "a"));
  EXPECT_TRUE(last.is_before("c", "b"));
}

TEST(admission, my_own_name_is_in_use) {
  EXPECT_EQ(found_by_both(facts_of("b"), facts_of("b")), name_in_use("b"));
}

TEST(admission, there_is_one_director) {
  auto false_director = facts_of("b");
  false_director.is_director = true;
  EXPECT_EQ(admit(facts_of("a"), false_director, three_nodes()).code, refusal_code::mismatch);
}

TEST(admission, a_replaced_director_is_kept_waiting) {
  auto director = facts_of("a");
  auto node = facts_of("b");
  node.term = 2;
  director.term = 1;
  EXPECT_EQ(found_by_both(director, node).kind, verdict_kind::later);
  director.term = 3;
  EXPECT_TRUE(found_by_both(director, node).is_admitted());
}

TEST(admission, processes_that_cannot_be_told_apart_are_refused) {
  auto twin = facts_of("b");
  twin.process = facts_of("a").process;
  EXPECT_EQ(found_by_both(facts_of("a"), twin).code, refusal_code::mismatch);
}

TEST(admission, who_was_dialled_must_be_there_and_who_is_instead_is_not_at_fault) {
  const auto found = admit_name(facts_of("b"), "a");
  EXPECT_EQ(found.reason, "the process at the address of a is b");
  EXPECT_EQ(found.kind, verdict_kind::later);
  EXPECT_TRUE(admit_name(facts_of("b"), "b").is_admitted());
}

TEST(admission, foreign_text_is_shown_short_and_harmless) {
  auto other = facts_of("b");
  other.arithmetic = "\x1b[2J" + std::string(5000, 'x');
  const auto reason = admit(facts_of("a"), other, three_nodes()).reason;
  EXPECT_LT(reason.size(), 300u);
  EXPECT_EQ(reason.find('\x1b'), std::string::npos);
}

TEST(admission, a_refusal_ends_whom_it_concerns) {
  const auto plan = three_nodes();
  const verdict differs{verdict_kind::refused, "they differ", refusal_code::mismatch};
  EXPECT_TRUE(ends_process({"a", differs, true}, plan, "b")) << "turned away by the director";
  EXPECT_TRUE(ends_process({"a", differs, false}, plan, "b")) << "it differs from the director";
  EXPECT_FALSE(ends_process({"b", differs, true}, plan, "c")) << "that is for the director to say";
  EXPECT_FALSE(ends_process({"c", differs, false}, plan, "b")) << "the other one is wrong";
  EXPECT_FALSE(ends_process({"nobody", differs, false}, plan, "b"));
  EXPECT_FALSE(ends_process({"a", name_not_free_yet("b"), true}, plan, "b"));
  EXPECT_FALSE(ends_process({"b", differs, true}, plan, "a")) << "a director stays";
  EXPECT_TRUE(ends_process({"b", name_in_use("c"), true}, plan, "c")) << "but not two of a name";
  EXPECT_TRUE(ends_process({"b", name_in_use("a"), true}, plan, "a"));
  EXPECT_FALSE(ends_process({"b", name_in_use("a"), false}, plan, "a")) << "who came by itself";
  EXPECT_TRUE(ends_process({"a", run_is_over("finished"), true}, plan, "b"));
  EXPECT_FALSE(ends_process({"b", run_is_over("finished"), true}, plan, "c"));
}

TEST(dial_clock, delays_double_up_to_the_longest) {
  dial_clock clock{100ms, 300ms};
  moment now{};
  EXPECT_EQ(clock.due(), now) << "at first at once";
  for (const auto delay : {100ms, 200ms, 300ms, 300ms}) {
    clock.on_begun();
    EXPECT_FALSE(clock.due());
    clock.on_failed(now);
    EXPECT_EQ(clock.due(), now + delay);
    EXPECT_EQ(clock.failing_since(), moment{});
    now += delay;
  }
}

TEST(dial_clock, an_open_connection_ends_the_row_of_failures) {
  dial_clock clock{100ms, 2s};
  clock.on_failed(moment{});
  clock.on_failed(moment{});
  clock.on_opened();
  EXPECT_FALSE(clock.due());
  EXPECT_FALSE(clock.failing_since());
  clock.on_lost(moment{1s});
  EXPECT_EQ(clock.due(), moment{1s} + 100ms);
}

TEST(dial_clock, longest_delay_is_shorter_than_what_counts_as_a_loss) {
  EXPECT_EQ(longest_dial_delay(1s), 500ms);
  EXPECT_EQ(longest_dial_delay(5s), 2s);
  EXPECT_EQ(longest_dial_delay(1h), 2s);
  EXPECT_EQ(longest_dial_delay(10ms), 100ms);
}

TEST(dial_clock, who_gave_up_dials_when_told_to) {
  dial_clock clock{100ms, 2s};
  clock.on_failed(moment{});
  clock.give_up();
  EXPECT_FALSE(clock.due());
  clock.on_lost(moment{1s});
  EXPECT_EQ(clock.due(), moment{1s} + 200ms);
  clock.on_lost(moment{5s});
  EXPECT_EQ(clock.due(), moment{1s} + 200ms) << "once is enough";
}

TEST(director_watch, a_director_that_never_comes_is_given_up) {
  director_watch watch{"a", 60s, moment{}};
  watch.on_failing("Connection refused");
  EXPECT_FALSE(watch.overdue(moment{} + 59s));
  EXPECT_EQ(watch.overdue(moment{} + 60s),
            "the director (a) could not be reached for 60000 ms: Connection refused");
}

TEST(director_watch, says_whom_it_waits_for_why_and_how_long) {
  director_watch watch{"a", 60s, moment{}};
  EXPECT_EQ(watch.waiting_text(moment{} + 2s), "waiting for the director (a) (58 s left)");
  watch.on_failing("Connection refused");
  EXPECT_EQ(watch.waiting_text(moment{} + 2500ms),
            "waiting for the director (a): Connection refused (58 s left)");
  EXPECT_TRUE(watch.away_since());
  watch.on_linked();
  EXPECT_FALSE(watch.away_since());
}

TEST(director_watch, patience_begins_anew_with_each_loss) {
  director_watch watch{"a", 60s, moment{}};
  watch.on_linked();
  EXPECT_FALSE(watch.overdue(moment{} + 1h));
  watch.on_lost(moment{} + 1h);
  EXPECT_FALSE(watch.overdue(moment{} + 1h + 59s));
  EXPECT_EQ(watch.overdue(moment{} + 1h + 60s),
            "the director (a) was lost for longer than 60000 ms");
}

TEST(admission, a_name_is_proven_by_a_certificate_for_it) {
  EXPECT_TRUE(admit_proof("b", {"b"}).is_admitted());
  EXPECT_TRUE(admit_proof("b", {"a", "b"}).is_admitted());
  for (const auto& names : std::vector<std::vector<std::string>>{{}, {"a"}, {"bb"}, {"*"}, {""}}) {
    const auto found = admit_proof("b", names);
    EXPECT_EQ(found.kind, verdict_kind::refused);
    EXPECT_EQ(found.code, refusal_code::no_permission);
  }
  EXPECT_EQ(admit_proof("b\n", {"a"}).reason.find('\n'), std::string::npos);
}

constexpr moment start{std::chrono::hours{1}};

TEST(rate_limit, lets_a_burst_through_and_then_its_rate) {
  rate_limit limit{10, 3};
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(limit.take(start)) << i;
  EXPECT_FALSE(limit.take(start));
  EXPECT_EQ(limit.due(start), start + milliseconds{100});
  EXPECT_FALSE(limit.take(start + milliseconds{99}));
  EXPECT_TRUE(limit.take(start + milliseconds{100}));
  EXPECT_FALSE(limit.take(start + milliseconds{100}));
}

TEST(rate_limit, saves_no_more_than_a_burst) {
  rate_limit limit{10, 3};
  const auto later = start + std::chrono::hours{1};
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(limit.take(later));
  EXPECT_FALSE(limit.take(later));
}

TEST(line_limit, tells_a_reason_once_an_interval_and_counts_the_rest) {
  line_limit limit{milliseconds{1'000}};
  EXPECT_EQ(limit.on_reason("a", start), 1u);
  EXPECT_EQ(limit.on_reason("a", start + milliseconds{1}), std::nullopt);
  EXPECT_EQ(limit.on_reason("b", start + milliseconds{1}), 1u) << "each reason has its own";
  EXPECT_EQ(limit.on_reason("a", start + milliseconds{999}), std::nullopt);
  EXPECT_EQ(limit.on_reason("a", start + milliseconds{1'000}), 3u);
}

TEST(line_limit, reasons_without_number_share_a_place) {
  line_limit limit{milliseconds{1'000}};
  size_t told = 0;
  for (int i = 0; i < 10'000; ++i)
    told += limit.on_reason(std::to_string(i), start).has_value();
  EXPECT_LE(told, line_limit::reasons_max + 1);
}

TEST(reported_once, a_reason_is_told_again_after_a_success_only) {
  reported_once told;
  EXPECT_TRUE(told.on_reason("a", "refused"));
  EXPECT_FALSE(told.on_reason("a", "refused"));
  EXPECT_TRUE(told.on_reason("a", "silent"));
  EXPECT_TRUE(told.on_reason("b", "refused"));
  told.on_success("a");
  EXPECT_TRUE(told.on_reason("a", "refused"));
  EXPECT_FALSE(told.on_reason("b", "refused"));
}

TEST(reported_once, whoever_words_ever_new_reasons_is_not_heard_any_more) {
  reported_once told;
  size_t count = 0;
  for (int i = 0; i < 1'000; ++i)
    count += told.on_reason("a", std::to_string(i));
  EXPECT_EQ(count, reported_once::reasons_max);
  EXPECT_TRUE(told.on_reason("b", "refused"));
}

} // namespace
} // namespace troupe::admission_test
