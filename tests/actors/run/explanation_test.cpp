#include "actors/run/explanation.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace troupe::explanation_test {
namespace {

node_status node(const std::string& name, std::vector<awaited> waits = {}, double silence = 0.3) {
  node_status x;
  x.name = name;
  x.is_director = name == "main";
  x.is_linked = x.takes_part = true;
  x.waits = std::move(waits);
  x.silence = silence;
  return x;
}

node_status gone(const std::string& name) {
  auto x = node(name, {}, -1);
  x.is_linked = x.takes_part = false;
  return x;
}

training_status standing_still(std::vector<node_status> nodes) {
  training_status x;
  x.phase = "training";
  x.still = 3;
  x.waits_for = "step 7";
  x.nodes = std::move(nodes);
  return x;
}

training_status with(training_status x, const std::function<void(training_status&)>& change) {
  change(x);
  return x;
}

struct state {
  const char* name;
  training_status status;
  wait_rule rule;
  std::vector<std::string> culprits;
  std::vector<explained_wait> chain;
  std::string said; ///< in the verdict
};

const awaited from_right{"right", "gradients of step 7, slice 2"};

std::vector<state> states() {
  const explained_wait main_for_right{"main", "right", from_right.what};
  const awaited boundary{"c", "activations of step 7, slice 0, behind segment 0"};
  const awaited own{"", "the state of checkpoint 3 from the director"};
  const auto at_slice = [](int busy_ms, int longest_ms) {
    return work_piece{"replica 0", "slice 4 of step 412", milliseconds{busy_ms},
                      milliseconds{longest_ms}};
  };
  const auto cut_link = [](const std::string& from, const std::string& to) {
    return link_figures{from, to, 900, 500, 400, 0, 0, milliseconds{2'500}};
  };
  const auto busy = [](training_status& x) { x.late = {{"right", {}, {}, milliseconds{22'000}}}; };
  const auto row = [](const char* name, const training_status& status, wait_rule rule,
                      const std::vector<std::string>& culprits,
                      const std::vector<explained_wait>& chain, const std::string& said) {
    return state{name, status, rule, culprits, chain, said};
  };
  const auto main_waits = standing_still({node("main", {from_right}), node("right")});
  const std::vector for_right{main_for_right};
  return {
    row("a silent worker", standing_still({node("main", {from_right}), node("right", {}, 3.2)}),
        wait_rule::silent, {"right"}, for_right, "silent for 3.2 s"),
    row("what a silent one said does not count, nor whom it blamed",
        standing_still({node("main", {from_right}), node("right", {boundary}, 3.2), gone("c")}),
        wait_rule::silent, {"right"}, for_right, "right holds up the run"),
    row("silent, and nobody but the director waits for it",
        standing_still({node("main"), node("right", {}, 1.8)}), wait_rule::silent, {"right"},
        {{"main", "right", "a sign of life"}}, "silent for 1.8 s"),
    row("linked and never heard",
        standing_still({node("main", {from_right}), node("right", {}, -1)}), wait_rule::silent,
        {"right"}, for_right, "never heard"),
    row("a chain over a boundary",
        standing_still({node("main", {from_right}), node("right", {boundary}), node("c", {}, 9)}),
        wait_rule::silent, {"c"}, {main_for_right, {"right", "c", boundary.what}}, "c holds up"),
    row("a worse end than the nearest",
        standing_still({node("main", {{"left", "x"}, from_right}), node("left"),
                        node("right", {boundary}), node("c", {}, 9)}),
        wait_rule::silent, {"c"}, {main_for_right, {"right", "c", boundary.what}}, "c holds up"),
    row("two at once",
        standing_still(
          {node("main", {from_right, {"c", "x"}}), node("right", {}, 3), node("c", {}, 3)}),
        wait_rule::silent, {"right", "c"}, for_right, "right, c hold up"),
    row("a link that is gone", standing_still({node("main", {from_right}), gone("right")}),
        wait_rule::missing, {"right"}, for_right, "right holds up the run: no link"),
    row("its own part", standing_still({node("main", {from_right}), node("right", {own})}),
        wait_rule::own_part, {"right"}, {main_for_right, {"right", "", own.what}}, own.what),
    row("computing", with(main_waits, busy), wait_rule::computing, {"right"}, for_right,
        "at one piece of work for 22.0 s"),
    row(
      "an actor at a piece for longer than any before",
      with(main_waits, [&](auto& x) { x.nodes[1].pieces = {at_slice(8'400, 200)}; }),
      wait_rule::computing, {"right/replica 0"}, for_right,
      "right/replica 0 holds up the run: at slice 4 of step 412 for 8.4 s (its longest before took "
      "0.2 s)"),
    row("who computes waits for what comes of that, too",
        with(standing_still({node("main", {from_right}), node("right", {{"main", "parameters"}})}),
             [&](auto& x) { x.nodes[1].pieces = {at_slice(8'400, 200)}; }),
        wait_rule::computing, {"right/replica 0"}, for_right, "right/replica 0 holds up the run"),
    row("nobody waits for anybody while all evaluate",
        with(standing_still({node("main"), node("right")}),
             [&](auto& x) {
               x.nodes[1].pieces = {{"replica 0", "chunk 3 of 9 of the evaluation of step 7",
                                     milliseconds{40}, milliseconds{200}}};
             }),
        wait_rule::working, {"right"}, {},
        "no fault: right/replica 0 works as always, at chunk 3 of 9 of the evaluation of step 7"),
    row("a piece as long as those before is no fault",
        with(main_waits, [&](auto& x) { x.nodes[1].pieces = {at_slice(8'400, 9'000)}; }),
        wait_rule::working, {"right"}, for_right,
        "no fault: right/replica 0 works as always, at slice 4 of step 412 for 8.4 s"),
    row("nor is a long first piece",
        with(main_waits, [&](auto& x) { x.nodes[1].pieces = {at_slice(29'000, 0)}; }),
        wait_rule::working, {"right"}, for_right, "no fault"),
    row("but one without an end is",
        with(main_waits, [&](auto& x) { x.nodes[1].pieces = {at_slice(31'000, 0)}; }),
        wait_rule::computing, {"right/replica 0"}, for_right, "for 31.0 s"),
    row("another actor that does not answer is busy, whatever this one is at",
        with(main_waits, [&](auto& x) { busy(x), x.nodes[1].pieces = {at_slice(100, 200)}; }),
        wait_rule::computing, {"right/replica 0"}, for_right, "right/replica 0 holds up the run"),
    row("a link that carries nothing, within a circle",
        with(standing_still({node("main", {from_right}), node("right", {{"main", "parameters"}})}),
             [&](auto& x) { x.links = {cut_link("right", "main")}; }),
        wait_rule::link, {"link right -> main"}, for_right,
        "the link right -> main holds up the run: 900 bytes were given to it, 500 have come, none "
        "for 2.5 s"),
    row("of two links the one that is waited for",
        with(standing_still({node("main", {from_right}), node("right"), node("c")}),
             [&](auto& x) {
               x.links = {cut_link("c", "right"), cut_link("right", "main")};
             }),
        wait_rule::link, {"link right -> main"}, for_right, "link right -> main"),
    row("what has come was not acknowledged: the way back",
        with(main_waits,
             [&](auto& x) {
               x.links = {cut_link("right", "main")};
               x.links[0].came = 900;
               x.links[0].waiting = 3;
             }),
        wait_rule::link, {"link main -> right"}, for_right, "all 900 bytes from right have come"),
    row("something is under way, and moves",
        with(main_waits,
             [&](auto& x) {
               x.links = {cut_link("right", "main")};
               x.links[0].still = milliseconds{1'000};
             }),
        wait_rule::on_the_way, {"right"}, for_right, "has not come"),
    row("to a process that is silent nothing goes",
        with(standing_still({node("main", {from_right}), node("right", {}, 3)}),
             [&](auto& x) { x.links = {cut_link("main", "right")}; }),
        wait_rule::silent, {"right"}, for_right, "right holds up"),
    row("idle, and yet waited for", main_waits, wait_rule::on_the_way, {"right"}, for_right,
        "what main waits for from right"),
    row("a circle, and one who waits for it",
        standing_still({node("main", {from_right}), node("right", {boundary}),
                        node("c", {{"right", "derivatives"}})}),
        wait_rule::circle, {"right", "c"},
        {{"c", "right", "derivatives"}, {"right", "c", boundary.what}},
        "right, c wait for each other"),
    row("a circle behind a chain",
        standing_still({node("main", {from_right}), node("right", {boundary}),
                        node("c", {{"d", "x"}}), node("d", {{"c", "y"}})}),
        wait_rule::circle, {"c", "d"}, {{"d", "c", "y"}, {"c", "d", "x"}},
        "c, d wait for each other"),
    row("one who waits for itself",
        standing_still({node("main", {{"main", "gradients"}}), node("right")}), wait_rule::circle,
        {"main"}, {{"main", "main", "gradients"}}, "waits for itself"),
    row("somebody unknown", standing_still({node("main", {{"nobody", "x"}})}), wait_rule::own_part,
        {"main"}, {{"main", "nobody", "x"}}, "waiting for x"),
    row("nobody waits for anybody", standing_still({node("main"), node("right")}),
        wait_rule::director, {"main"}, {{"main", "", "step 7"}}, "no process says"),
    row(
      "a checkpoint",
      with(standing_still({node("main")}), [](auto& x) { x.waits_for = checkpoint_to_be_written; }),
      wait_rule::disk, {"disk of main"}, {{"main", "", "a checkpoint to be written"}}, "for 3.0 s"),
    row("a checkpoint, and somebody else is to blame",
        with(standing_still({node("main"), node("right", {}, 3)}),
             [](auto& x) { x.waits_for = checkpoint_to_be_written; }),
        wait_rule::silent, {"right"}, {{"main", "right", "a sign of life"}},
        "right holds up the run"),
    row("the term, before all else",
        with(standing_still({node("main"), node("right", {}, 3)}),
             [](auto& x) { x.waits_for = term_to_be_written; }),
        wait_rule::disk, {"disk of main"}, {{"main", "", "the term to be written"}},
        "the disk of main"),
    row(
      "nobody came, at once",
      with(standing_still({node("main"), gone("right"), gone("c")}),
           [](auto& x) { x.phase = "waiting", x.still = 0, x.waits_for = "waiting for right, c"; }),
      wait_rule::missing, {"right", "c"},
      {{"main", "right", "a link to it"}, {"main", "c", "a link to it"}}, "waiting for right, c"),
    row("nobody came, and it is known why",
        with(standing_still({node("main"), gone("right")}),
             [](auto& x) {
               x.phase = "waiting";
               x.waits_for = "waiting for right";
               x.nodes[1].trouble = "it was refused: version 0.9 there, 1.0 here";
               x.stranger = "a connection from h was turned away: certificate has expired";
             }),
        wait_rule::missing, {"right"}, {{"main", "right", "a link to it"}},
        "of right is known: it was refused: version 0.9 there, 1.0 here; a connection from h was "
        "turned away: certificate has expired"),
    row("all came, and it has not begun",
        with(standing_still({node("main"), node("right")}),
             [](auto& x) { x.phase = "waiting", x.waits_for = "begin"; }),
        wait_rule::joining, {"main"}, {{"main", "", "begin"}}, "main cannot begin yet"),
  };
}

TEST(explanation, names_the_culprit_and_the_chain_of_waits) {
  for (const auto& x : states()) {
    SCOPED_TRACE(x.name);
    const auto why = explain(x.status);
    ASSERT_TRUE(why);
    EXPECT_EQ(name_of(why->rule), name_of(x.rule));
    EXPECT_EQ(why->culprits, x.culprits);
    EXPECT_EQ(why->chain, x.chain);
    EXPECT_NE(why->verdict.find(x.said), std::string::npos) << why->verdict;
    EXPECT_FALSE(why->advice.empty());
  }
}

TEST(explanation, is_none_before_patience_ends_and_when_the_run_has_ended) {
  auto x = standing_still({node("main", {from_right}), node("right", {}, 3.2)});
  x.still = 1.9;
  EXPECT_FALSE(explain(x));
  EXPECT_TRUE(explain(x, milliseconds{1'900}));
  x.still = 3;
  EXPECT_FALSE(explain(x, milliseconds{3'001}));
  for (const auto* phase : {"finished", "failed"}) {
    x.phase = phase;
    EXPECT_FALSE(explain(x)) << phase;
  }
}

TEST(explanation, a_run_that_moves_has_one_when_it_is_slow_or_its_disk_hangs) {
  auto x = standing_still({node("main"), node("right")});
  x.still = 0.1;
  EXPECT_FALSE(explain(x));
  x.slow = {{{"right", 0}, 100, 95, 0.62, 12, 3.1}};
  x.links = {{"main", "right", 900, 900, 0, 0, 5e6, {}},
             {"right", "main", 900, 500, 4'000, 1, 2e5, {}}};
  const auto computes = explain(x);
  ASSERT_TRUE(computes);
  EXPECT_EQ(computes->rule, wait_rule::slow);
  EXPECT_EQ(computes->culprits, std::vector<std::string>{"right/replica 0"});
  EXPECT_NE(
    computes->verdict.find(
      "62 % of the time: last in 95 of the last 100 steps, and its computing takes 3 times"),
    std::string::npos)
    << computes->verdict;
  x.slow[0].computing_ratio = 1.1;
  const auto comes_late = explain(x);
  ASSERT_TRUE(comes_late);
  EXPECT_EQ(comes_late->culprits, std::vector<std::string>{"link right -> main"});
  EXPECT_NE(comes_late->verdict.find("200 kB/s, 4 kB under way"), std::string::npos)
    << comes_late->verdict;
  x.writes_for = 2.5;
  const auto writes = explain(x);
  ASSERT_TRUE(writes);
  EXPECT_EQ(writes->rule, wait_rule::disk);
  EXPECT_EQ(writes->culprits, std::vector<std::string>{"disk of main"});
  EXPECT_NE(writes->verdict.find("training goes on: it is written to for 2.5 s"),
            std::string::npos);
}

TEST(explanation, names_three_and_counts_the_others) {
  std::vector<node_status> nodes{node("main")};
  for (const auto* name : {"a", "b", "c", "d", "e"})
    nodes.push_back(node(name, {}, 3));
  const auto why = explain(standing_still(nodes));
  ASSERT_TRUE(why);
  EXPECT_EQ(why->culprits.size(), 5u);
  EXPECT_EQ(why->verdict.find("a, b, c and 2 more hold up the run"), 0u) << why->verdict;
}

TEST(explanation, a_run_without_processes_has_one_too) {
  EXPECT_TRUE(explain(standing_still({})));
}

} // namespace
} // namespace troupe::explanation_test
