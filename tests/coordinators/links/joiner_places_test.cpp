#include "coordinators/links/joiner_places.hpp"

#include <gtest/gtest.h>

namespace troupe::joiner_places_test {
namespace {

using namespace std::chrono_literals;

/// a is listed; two others may join. A name counts as long as the registry holds it.
class some_places : public testing::Test {
protected:
  some_places() {
    cluster_plan plan;
    plan.nodes = {{"a", "", "", true, 1, 1}};
    plan.join.emplace();
    plan.max_nodes = 3;
    plan.timeouts.lost_after = 5s;
    places = joiner_places{plan};
  }
  bool lets_in(const std::string& name, milliseconds at = 0s) {
    return places.on_candidate(name, names, moment{} + at).is_admitted();
  }
  void hold(const std::string& name) {
    names.on_candidate(name, {"process of " + name, 1}, ++ticket);
  }
  void lose(const std::string& name, milliseconds at) {
    names.on_lost(name);
    places.on_lost(name, moment{} + at);
  }

  joiner_places places;
  name_registry names{5s};
  uint64_t ticket = 0;
};

TEST_F(some_places, are_given_to_as_many_as_may_join) {
  hold("a");
  hold("x");
  EXPECT_TRUE(lets_in("y"));
  hold("y");
  EXPECT_FALSE(lets_in("z"));
  EXPECT_EQ(places.on_candidate("z", names, moment{}).kind, verdict_kind::later);
  EXPECT_TRUE(lets_in("x")) << "it has its place: another life of it, or another of its name";
  EXPECT_TRUE(lets_in("a")) << "who is listed needs none";
}

TEST_F(some_places, are_kept_for_a_while_for_who_may_have_lost_its_link_alone) {
  hold("x");
  hold("y");
  lose("y", 1s);
  EXPECT_FALSE(lets_in("z", 5'999ms));
  EXPECT_TRUE(lets_in("y", 2s));
  hold("y");
  EXPECT_FALSE(lets_in("z", 7s));
  lose("y", 8s);
  EXPECT_TRUE(lets_in("z", 13s));
}

TEST_F(some_places, of_listed_ones_are_nobody_elses) {
  hold("x");
  lose("a", 0s);
  EXPECT_TRUE(lets_in("y", 1s));
}

} // namespace
} // namespace troupe::joiner_places_test
