// A group's plan is what its replicas count when they do it: bytes of each link and way and of
// gradients exactly, memory from above.

#include "coordinators/parallel/group_plan.hpp"
#include "tests/support/part_company.hpp"

namespace troupe::plan_counters_test {

namespace {

using test::network_of_letters;
using test::part_company;
using test::slice_count;
using test::split_problem;

struct placement {
  const char* letters; ///< how layers are cut, as network_of_letters has it
  size_t parts = 1;
  grid_shape shape;
  pipeline_schedule schedule{};
  loss_kind loss = loss_kind::categorical_cross_entropy;
  double dropout = 0;
};

constexpr auto one_by_one = pipeline_schedule::one_forward_one_backward;
constexpr auto gpipe = pipeline_schedule::gpipe;

const std::vector<placement> placements{
  {"OIN", 2, {1, 2, 1}},
  {"OIN", 4, {1, 3, 1}},                                       // uneven, sums of two parts
  {"OIO", 4, {1, 4, 1}},                                       // split scores
  {"OIO", 4, {1, 2, 2}, one_by_one, loss_kind::squared},       // without figures
  {"IOI", 4, {1, 2, 2}, gpipe},                                // first cut by inputs
  {"NOIN", 3, {1, 3, 3}, one_by_one, loss_kind::squared, 0.2}, // dropout
  {"OIOI", 4, {1, 4, 2}, one_by_one},                          // two pairs
  {"NNN", 1, {1, 1, 3}, one_by_one},                           // a pipeline alone
  {"NNN", 1, {1, 1, 3}, gpipe, loss_kind::huber},
  {"INO", 64, {1, 4, 3}, one_by_one}, // parts without units
  {"OIN", 4, {1, 1, 1}},              // one has everything
};

std::string text_of(const placement& x) {
  return std::string{x.letters} + ", tensor " + std::to_string(x.shape.tensor) + ", pipeline " +
         std::to_string(x.shape.pipeline) + ", " + std::string{name_of(x.schedule)};
}

split_problem problem_of(const placement& x) {
  auto options = network_of_letters(x.loss, x.letters, x.parts);
  options.dropout = x.dropout;
  return split_problem{options};
}

group_plan plan_of(const part_company& company, const placement& x) {
  group_work work;
  work.members = company.group;
  work.schedule = x.schedule;
  for (size_t slice = 0; slice < slice_count; ++slice)
    work.slice_rows.push_back(company.problem_.rows_in(slice));
  return plan_group(*company.problem_.network, work);
}

using bytes_by_link = std::map<part_company::link, uint64_t>;

bytes_by_link planned_bytes(const group_plan& plan) {
  bytes_by_link result;
  for (const auto& link : plan.links)
    for (const auto way : {boundary_way::forward, boundary_way::backward, boundary_way::figures})
      if (const auto bytes = link.bytes[static_cast<size_t>(way)]; bytes > 0)
        result[{link.from, link.to, way}] = bytes;
  return result;
}

/// Memory from above; of a slice closely, where all have as many rows.
void expect_memory(const part_company& company, const group_plan& plan, const std::string& where) {
  for (size_t i = 0; i < plan.replicas.size(); ++i) {
    const auto member = where + ", member " + std::to_string(i);
    const auto& planned = plan.replicas[i];
    const auto counted = company.members[i]->counted();
    EXPECT_EQ(company.members[i]->window().size() * sizeof(float), planned.slice_gradient_bytes)
      << member;
    EXPECT_LE(counted.in_flight_peak, planned.slices_held) << member;
    EXPECT_LE(counted.items_held, planned.slices_held) << member;
    const auto workspace = counted.workspace_bytes / counted.items_held;
    EXPECT_LE(workspace, planned.slice_activation_bytes) << member;
    EXPECT_GE(1.15 * static_cast<double>(workspace),
              static_cast<double>(planned.slice_activation_bytes))
      << member;
    EXPECT_LE(counted.buffer_bytes,
              planned.slices_held * (planned.slice_gradient_bytes + planned.slice_boundary_bytes))
      << member;
  }
}

/// What a company that keeps the order of messages counts, and its plan.
template <class Compare>
void compare(size_t rows_in_shorter, const Compare& expect) {
  for (const auto& x : placements) {
    auto problem = problem_of(x);
    problem.rows_in_shorter = rows_in_shorter;
    for (uint64_t seed = 0; seed < 20; ++seed) {
      part_company company{problem, x.shape, x.schedule, seed};
      company.keeps_order = true;
      company.run(tile_rule::work_kind::step);
      expect(company, plan_of(company, x), text_of(x) + ", seed " + std::to_string(seed));
    }
  }
}

} // namespace

TEST(plan_counters, as_many_bytes_go_over_each_link_as_planned) {
  compare(1, [](const part_company& company, const group_plan& plan, const std::string& where) {
    EXPECT_EQ(company.bytes, planned_bytes(plan)) << where;
  });
}

TEST(plan_counters, as_much_is_held_as_planned) {
  compare(test::row_count, expect_memory);
}

} // namespace troupe::plan_counters_test
