#include "troupe/coordinators/job/cluster_groups.hpp"

#include <gtest/gtest.h>

namespace troupe::cluster_groups_test {

namespace {

parallel_options split_by(size_t tensor, size_t pipeline, std::optional<size_t> data = {}) {
  parallel_options result;
  result.tensor = tensor;
  result.pipeline = pipeline;
  result.data = data;
  return result;
}

std::string problem_of(const parallel_options& x, size_t replicas) {
  const auto found = groups_problem(x, replicas);
  return found ? found->key + ": " + found->why : "";
}

} // namespace

TEST(cluster_groups, are_as_many_as_are_whole_or_fewer_that_were_asked_for) {
  EXPECT_EQ(groups_of(split_by(2, 1), 5), 2u);
  EXPECT_EQ(groups_of(split_by(2, 2), 8), 2u);
  EXPECT_EQ(groups_of(split_by(2, 1, 1), 5), 1u);
  EXPECT_EQ(groups_of(split_by(2, 1, 3), 5), 2u) << "after a loss, say";
  EXPECT_EQ(groups_of(split_by(1, 1), 5), 5u) << "each has the whole model";
  EXPECT_EQ(problem_of(split_by(2, 1), 2), "");
  EXPECT_EQ(problem_of(split_by(2, 1, 2), 5), "");
  EXPECT_EQ(problem_of(split_by(1, 1, 5), 5), "");
}

TEST(cluster_groups, of_too_few_replicas_are_refused_by_name) {
  EXPECT_EQ(problem_of(split_by(2, 3), 5),
            "parallel.tensor: a group needs 6 replicas, the nodes have 5 in all");
  EXPECT_EQ(problem_of(split_by(1, 3), 2),
            "parallel.pipeline: a group needs 3 replicas, the nodes have 2 in all");
  EXPECT_EQ(problem_of(split_by(2, 1, 3), 5),
            "parallel.data: 3 groups of 2 replicas, the nodes have 5 in all");
  EXPECT_EQ(problem_of(split_by(1, 1, 4), 5),
            "parallel.data: is another number of replicas than the nodes have");
}

} // namespace troupe::cluster_groups_test
