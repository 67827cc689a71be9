#include "troupe/actors/run/explanation.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace troupe {

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
  const awaited seam{"c", "activations of step 7, slice 0, behind segment 0"};
  const awaited own{"", "the state of checkpoint 3 from the director"};
  const auto busy = [](training_status& x) { x.late = {{"right", {}, {}, milliseconds{22'000}}}; };
  return {
    {"a silent worker",
     standing_still({node("main", {from_right}), node("right", {}, 3.2)}),
     wait_rule::silent,
     {"right"},
     {main_for_right},
     "silent for 3.2 s"},
    {"what a silent one said does not count",
     standing_still({node("main", {from_right}), node("right", {{"main", "parameters"}}, 3.2)}),
     wait_rule::silent,
     {"right"},
     {main_for_right},
     "right holds up the run"},
    {"nor whom it blamed",
     standing_still({node("main", {from_right}), node("right", {seam}, 3.2), gone("c")}),
     wait_rule::silent,
     {"right"},
     {main_for_right},
     "right holds up the run"},
    {"silent, and nobody names it",
     standing_still({node("main"), node("right", {}, 1.8)}),
     wait_rule::silent,
     {"right"},
     {},
     "silent for 1.8 s"},
    {"linked and never heard",
     standing_still({node("main", {from_right}), node("right", {}, -1)}),
     wait_rule::silent,
     {"right"},
     {main_for_right},
     "never heard"},
    {"a chain over a seam",
     standing_still({node("main", {from_right}), node("right", {seam}), node("c", {}, 9)}),
     wait_rule::silent,
     {"c"},
     {main_for_right, {"right", "c", seam.what}},
     "c holds up"},
    {"a worse end than the nearest",
     standing_still({node("main", {{"left", "x"}, from_right}), node("left"), node("right", {seam}),
                     node("c", {}, 9)}),
     wait_rule::silent,
     {"c"},
     {main_for_right, {"right", "c", seam.what}},
     "c holds up"},
    {"two at once",
     standing_still(
       {node("main", {from_right, {"c", "x"}}), node("right", {}, 3), node("c", {}, 3)}),
     wait_rule::silent,
     {"right", "c"},
     {main_for_right},
     "right, c hold up"},
    {"a link that is gone",
     standing_still({node("main", {from_right}), gone("right")}),
     wait_rule::missing,
     {"right"},
     {main_for_right},
     "right holds up the run: no link"},
    {"its own part",
     standing_still({node("main", {from_right}), node("right", {own})}),
     wait_rule::own_part,
     {"right"},
     {main_for_right, {"right", "", own.what}},
     own.what},
    {"computing",
     with(standing_still({node("main", {from_right}), node("right")}), busy),
     wait_rule::computing,
     {"right"},
     {main_for_right},
     "at one piece of work for 22.0 s"},
    {"idle, and yet waited for",
     standing_still({node("main", {from_right}), node("right")}),
     wait_rule::on_the_way,
     {"right"},
     {main_for_right},
     "what main waits for from right"},
    {"a circle, and one who waits for it",
     standing_still(
       {node("main", {from_right}), node("right", {seam}), node("c", {{"right", "derivatives"}})}),
     wait_rule::circle,
     {"right", "c"},
     {{"c", "right", "derivatives"}, {"right", "c", seam.what}},
     "right, c wait for each other"},
    {"a circle behind a chain",
     standing_still({node("main", {from_right}), node("right", {seam}), node("c", {{"d", "x"}}),
                     node("d", {{"c", "y"}})}),
     wait_rule::circle,
     {"c", "d"},
     {{"d", "c", "y"}, {"c", "d", "x"}},
     "c, d wait for each other"},
    {"one who waits for itself",
     standing_still({node("main", {{"main", "gradients"}}), node("right")}),
     wait_rule::circle,
     {"main"},
     {{"main", "main", "gradients"}},
     "waits for itself"},
    {"somebody unknown",
     standing_still({node("main", {{"nobody", "x"}})}),
     wait_rule::own_part,
     {"main"},
     {{"main", "nobody", "x"}},
     "waiting for x"},
    {"nobody waits for anybody",
     standing_still({node("main"), node("right")}),
     wait_rule::director,
     {"main"},
     {{"main", "", "step 7"}},
     "no process says"},
    {"a checkpoint",
     with(standing_still({node("main")}), [](auto& x) { x.waits_for = checkpoint_to_be_written; }),
     wait_rule::disk,
     {"main"},
     {{"main", "", "a checkpoint to be written"}},
     "for 3.0 s"},
    {"a checkpoint, and somebody else is to blame",
     with(standing_still({node("main"), node("right", {}, 3)}),
          [](auto& x) { x.waits_for = checkpoint_to_be_written; }),
     wait_rule::silent,
     {"right"},
     {},
     "right holds up the run"},
    {"the term, before all else",
     with(standing_still({node("main"), node("right", {}, 3)}),
          [](auto& x) { x.waits_for = term_to_be_written; }),
     wait_rule::disk,
     {"main"},
     {{"main", "", "the term to be written"}},
     "the disk of main"},
    {"nobody came, at once",
     with(standing_still({node("main"), gone("right"), gone("c")}),
          [](auto& x) {
            x.phase = "waiting";
            x.still = 0;
            x.waits_for = "waiting for right, c";
          }),
     wait_rule::missing,
     {"right", "c"},
     {{"main", "right", "a link to it"}, {"main", "c", "a link to it"}},
     "waiting for right, c"},
    {"all came, and it has not begun",
     with(standing_still({node("main"), node("right")}),
          [](auto& x) {
            x.phase = "waiting";
            x.waits_for = "begin";
          }),
     wait_rule::joining,
     {"main"},
     {{"main", "", "begin"}},
     "main cannot begin yet"},
  };
}

} // namespace

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

} // namespace troupe
