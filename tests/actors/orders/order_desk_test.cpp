// Orders over a wire that loses, repeats, reorders and damages: the keeper's desk and a trainer's,
// with nothing between them but this test.

#include "troupe/actors/orders/order_desk.hpp"
#include "troupe/actors/orders/work_desk.hpp"
#include "troupe/tests/support/payloads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace troupe {

namespace {

using namespace std::chrono_literals;
using ranges = std::vector<index_range>;
using test::counting_from;
using test::over_a_wire;

constexpr size_t size = 10;
constexpr uint64_t term = 3;
const trainer_life left{"left", 7, 1};
const trainer_life right{"right", 8, 0};
const moment start{};

const_buffer counted(float first) {
  return counting_from(first, size).storage();
}

/// Member 2 is to go on from step 40, with one tensor of state.
distant_order local_steps(const trainer_life& who = left, uint64_t round = 9) {
  trainer_order work;
  work.task = trainer_task::local_steps;
  work.trainer = 4;
  work.ticket = round;
  work.member = 2;
  work.first_step = 40;
  work.step_count = 5;
  work.parameters = counted(100);
  work.state = optimizer_state{1, size};
  std::ranges::copy(counted(200).values(), work.state.slot(0).begin());
  return {who, work, std::nullopt};
}

distant_order gradient(uint64_t step) {
  trainer_order work;
  work.first_step = step;
  work.parameters = counted(100);
  return {left, work, std::nullopt};
}

distant_order evaluate(uint64_t version, const index_range& chunks) {
  return {left, std::nullopt, evaluation_order{{}, term, version, counted(100), chunks}};
}

std::shared_ptr<buffer_pool> a_pool() {
  return std::make_shared<buffer_pool>(size);
}

struct desks {
  order_desk keeper{term, a_pool()};
  work_desk trainer{term, a_pool()};

  /// Elements of what the one desk keeps, as they come to the other.
  parcel_piece piece(bool is_result, uint64_t number, uint64_t vector,
                     const index_range& elements = {0, size}) const {
    const auto values = *(is_result ? trainer.kept(number, vector) : keeper.kept(number, vector));
    return over_a_wire(parcel_piece{term,
                                    is_result,
                                    number,
                                    vector,
                                    elements.begin,
                                    payload{values.storage(), elements.begin, elements.size()},
                                    {}});
  }

  std::vector<work_desk::whole_order> bring(const order_sheet& sheet) {
    std::vector<work_desk::whole_order> result;
    trainer.offer(sheet, start);
    for (uint64_t k = 0; k < sheet.vector_count; ++k)
      for (auto& order : trainer.offer(piece(false, sheet.number, k), start))
        result.push_back(std::move(order));
    return result;
  }

  std::optional<order_desk::finished_order> bring_back(const result_sheet& sheet) {
    auto result = keeper.offer(over_a_wire(sheet), start);
    for (uint64_t k = 0; k < sheet.vector_count; ++k)
      if (auto whole = keeper.offer(piece(true, sheet.number, k), start))
        result = whole;
    return result;
  }
};

/// What a trainer makes of an order: values and state of its own.
trainer_result answer_to(const work_desk::whole_order& order) {
  trainer_result result;
  result.ticket = order.sheet.number;
  result.values = counted(300);
  result.sums = {0.5, 6, 7, 0.25};
  result.computed = 8ns;
  if (order.sheet.task == trainer_task::local_steps) {
    result.state = optimizer_state{1, size};
    std::ranges::copy(counted(400).values(), result.state.slot(0).begin());
  }
  return result;
}

bool same(const const_buffer& a, const const_buffer& b) {
  return std::ranges::equal(a.values(), b.values());
}

} // namespace

TEST(order_desk, an_order_and_its_result_arrive_as_they_were_sent) {
  desks wire;
  const auto sheet = over_a_wire(wire.keeper.open(local_steps(), start));
  EXPECT_EQ(sheet.replica, 1u);
  EXPECT_EQ(sheet.vector_count, 2u);
  const auto orders = wire.bring(sheet);
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_EQ(orders[0].sheet.task, trainer_task::local_steps);
  EXPECT_EQ(orders[0].sheet.trainer, 4u);
  EXPECT_EQ(orders[0].sheet.member, 2u);
  EXPECT_EQ(orders[0].sheet.first_step, 40u);
  EXPECT_EQ(orders[0].sheet.step_count, 5u);
  EXPECT_TRUE(same(orders[0].parameters, counted(100)));
  ASSERT_EQ(orders[0].state.slot_count(), 1u);
  EXPECT_TRUE(std::ranges::equal(orders[0].state.slot(0), counted(200).values()));
  const auto finished = wire.bring_back(*wire.trainer.finish(answer_to(orders[0])));
  ASSERT_TRUE(finished);
  const auto& result = finished->result;
  EXPECT_EQ(result.trainer, 4u);
  EXPECT_EQ(result.ticket, 9u) << "the keeper's own number";
  EXPECT_EQ(result.member, 2u);
  EXPECT_EQ(result.first_step, 40u);
  EXPECT_EQ(result.sums, (batch_sums{0.5, 6, 7, 0.25}));
  EXPECT_EQ(result.computed, 8ns);
  EXPECT_TRUE(result.finite);
  EXPECT_TRUE(same(result.values, counted(300)));
  ASSERT_EQ(result.state.slot_count(), 1u);
  EXPECT_TRUE(std::ranges::equal(result.state.slot(0), counted(400).values()));
}

TEST(order_desk, a_result_counts_once) {
  desks wire;
  const auto orders = wire.bring(wire.keeper.open(local_steps(), start));
  const auto sheet = *wire.trainer.finish(answer_to(orders.at(0)));
  ASSERT_TRUE(wire.bring_back(sheet));
  EXPECT_FALSE(wire.bring_back(sheet));
  EXPECT_TRUE(wire.keeper.waits(start + 1h).empty());
  EXPECT_FALSE(wire.trainer.finish(answer_to(orders[0]))) << "nor is it sent twice";
}

TEST(order_desk, an_order_that_comes_again_is_not_computed_again) {
  desks wire;
  const auto sheet = wire.keeper.open(local_steps(), start);
  const auto orders = wire.bring(sheet);
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_TRUE(wire.bring(sheet).empty());
  EXPECT_FALSE(wire.trainer.offer(sheet, start)) << "its trainer is at work";
  const auto result = wire.trainer.finish(answer_to(orders[0]));
  EXPECT_EQ(wire.trainer.offer(sheet, start), result) << "the result's sheet was lost";
}

TEST(order_desk, what_a_lost_trainer_sends_is_of_no_order) {
  desks wire;
  const auto orders = wire.bring(wire.keeper.open(local_steps(), start));
  const auto other = wire.keeper.open(local_steps(right), start);
  wire.keeper.keep_if([](const trainer_life& who) { return who == right; });
  EXPECT_FALSE(wire.keeper.kept(1, 0));
  EXPECT_FALSE(wire.keeper.address_of(1));
  ASSERT_TRUE(wire.keeper.address_of(other.number));
  EXPECT_EQ(wire.keeper.address_of(other.number)->process, "right");
  EXPECT_FALSE(wire.bring_back(*wire.trainer.finish(answer_to(orders.at(0)))));
}

TEST(order_desk, a_sheet_that_brought_nothing_is_sent_again) {
  desks wire;
  const auto sheet = wire.keeper.open(gradient(3), start);
  EXPECT_TRUE(wire.keeper.due(start + 150ms).empty());
  const auto reminders = wire.keeper.due(start + 200ms);
  ASSERT_EQ(reminders.size(), 1u);
  EXPECT_EQ(reminders[0].to, "left");
  EXPECT_EQ(std::get<order_sheet>(reminders[0].what), sheet);
  EXPECT_TRUE(wire.keeper.due(start + 300ms).empty());
}

TEST(order_desk, missing_elements_are_wanted_on_both_ends) {
  desks wire;
  const auto sheet = wire.keeper.open(local_steps(), start);
  wire.trainer.offer(sheet, start);
  wire.trainer.offer(wire.piece(false, 1, 0), start);
  EXPECT_TRUE(wire.trainer.offer(wire.piece(false, 1, 1, {4, 7}), start).empty());
  auto wanted = wire.trainer.due(start + 200ms);
  ASSERT_EQ(wanted.size(), 1u);
  EXPECT_EQ(wanted[0].kind, want_kind::orders);
  EXPECT_EQ(wanted[0].version, 1u);
  EXPECT_EQ(wanted[0].elements, (ranges{{10, 14}, {17, 20}}));
  wire.trainer.offer(wire.piece(false, 1, 1, {0, 4}), start);
  const auto orders = wire.trainer.offer(wire.piece(false, 1, 1, {7, 10}), start);
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_TRUE(wire.trainer.due(start + 5s).empty()) << "it has all it needs";
  const auto result = *wire.trainer.finish(answer_to(orders[0]));
  EXPECT_FALSE(wire.keeper.offer(result, start));
  EXPECT_FALSE(wire.keeper.offer(wire.piece(true, 1, 1), start));
  const auto reminders = wire.keeper.due(start + 200ms);
  ASSERT_EQ(reminders.size(), 1u);
  const auto& question = std::get<want>(reminders[0].what);
  EXPECT_EQ(question.kind, want_kind::results);
  EXPECT_EQ(question.elements, (ranges{{0, 10}}));
  EXPECT_TRUE(wire.keeper.offer(wire.piece(true, 1, 0), start));
}

TEST(order_desk, a_damaged_piece_has_not_come) {
  desks wire;
  const auto sheet = wire.keeper.open(gradient(3), start);
  wire.trainer.offer(sheet, start);
  const auto values = *wire.keeper.kept(1, 0);
  const auto damaged = over_a_wire(parcel_piece{term, false, 1, 0, 0, values, {}}, 1);
  EXPECT_TRUE(wire.trainer.offer(damaged, start).empty());
  EXPECT_EQ(wire.trainer.due(start + 200ms).at(0).elements, (ranges{{0, 10}}));
}

TEST(order_desk, results_are_kept_until_they_are_missed_no_more) {
  desks wire;
  const auto first = wire.bring(wire.keeper.open(gradient(3), start));
  const auto sheet = *wire.trainer.finish(answer_to(first.at(0)));
  EXPECT_EQ(wire.trainer.vector_count(1), 1u);
  wire.trainer.offer(wire.keeper.open(gradient(4), start), start);
  EXPECT_TRUE(wire.trainer.kept(1, 0)) << "it is still open";
  wire.bring_back(sheet);
  wire.trainer.offer(wire.keeper.open(gradient(5), start), start);
  EXPECT_FALSE(wire.trainer.kept(1, 0));
  EXPECT_EQ(wire.trainer.vector_count(1), 0u);
}

TEST(order_desk, a_late_sheet_brings_no_order_back) {
  desks wire;
  const auto late = wire.keeper.open(gradient(3), start);
  wire.bring_back(*wire.trainer.finish(answer_to(wire.bring(late).at(0))));
  wire.trainer.offer(wire.keeper.open(gradient(4), start), start);
  EXPECT_FALSE(wire.trainer.offer(late, start));
  EXPECT_TRUE(wire.trainer.due(start + 1s).at(0).version == 2 &&
              wire.trainer.due(start + 9s).size() == 1);
}

TEST(order_desk, a_trainer_does_what_it_is_told_in_that_order) {
  desks wire;
  const auto first = wire.keeper.open(evaluate(3, {2, 4}), start);
  const auto second = wire.keeper.open(gradient(4), start);
  wire.trainer.offer(first, start);
  wire.trainer.offer(second, start);
  EXPECT_TRUE(wire.trainer.offer(wire.piece(false, 2, 0), start).empty());
  const auto both = wire.trainer.offer(wire.piece(false, 1, 0), start);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_TRUE(both[0].sheet.evaluates);
  EXPECT_EQ(both[0].sheet.chunks, (index_range{2, 4}));
  EXPECT_EQ(both[1].sheet.first_step, 4u);
}

TEST(order_desk, an_evaluation_ends_with_a_sheet_alone) {
  desks wire;
  wire.bring(wire.keeper.open(evaluate(3, {2, 4}), start));
  EXPECT_EQ(wire.keeper.waits(start + 1h),
            (std::vector<awaited>{{"left", "the evaluation of version 3"}}));
  EXPECT_FALSE(wire.trainer.finish(evaluation{term, 3, 0, {}})) << "of another trainer";
  const auto sheet = wire.trainer.finish(evaluation{term, 3, 2, {{}, {}}});
  ASSERT_TRUE(sheet);
  EXPECT_EQ(sheet->vector_count, 0u);
  EXPECT_FALSE(wire.bring_back(*sheet)) << "the director has the sums";
  EXPECT_TRUE(wire.keeper.waits(start + 1h).empty());
}

TEST(order_desk, what_is_not_finite_comes_without_values) {
  desks wire;
  const auto orders = wire.bring(wire.keeper.open(local_steps(), start));
  auto answer = answer_to(orders.at(0));
  answer.finite = false;
  const auto finished = wire.bring_back(*wire.trainer.finish(answer));
  ASSERT_TRUE(finished);
  EXPECT_FALSE(finished->result.finite);
  EXPECT_FALSE(finished->result.values);
}

TEST(order_desk, nothing_of_another_term_counts) {
  desks wire;
  auto sheet = wire.keeper.open(gradient(3), start);
  ++sheet.term;
  wire.trainer.offer(sheet, start);
  EXPECT_TRUE(wire.trainer.due(start + 1s).empty());
  --sheet.term;
  auto result = *wire.trainer.finish(answer_to(wire.bring(sheet).at(0)));
  ++result.term;
  EXPECT_FALSE(wire.keeper.offer(result, start));
}

TEST(order_desk, a_result_of_another_shape_is_ignored) {
  desks wire;
  auto result =
    *wire.trainer.finish(answer_to(wire.bring(wire.keeper.open(gradient(3), start)).at(0)));
  result.vector_count = 2;
  EXPECT_FALSE(wire.keeper.offer(result, start));
  result.vector_count = 1;
  EXPECT_TRUE(wire.bring_back(result));
}

// Whatever the wire does, each order is computed once and its result arrives once.
TEST(order_desk, every_order_is_done_once_over_a_bad_wire) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random{seed};
    const auto chance = [&](unsigned of_ten) { return random() % 10 < of_ten; };
    desks wire;
    std::vector<std::variant<order_sheet, result_sheet, parcel_piece, want>> under_way;
    std::vector<uint64_t> computed, arrived;
    auto now = start;
    const auto post = [&](bool is_result, uint64_t number, uint64_t count, const ranges& wanted) {
      for (uint64_t k = 0; k < count; ++k)
        for (const auto& range : wanted)
          if (const auto part = parcel_gathering::part_in(range, k, size); !part.empty())
            under_way.emplace_back(wire.piece(is_result, number, k, part));
    };
    const auto send_result = [&](const std::optional<result_sheet>& sheet) {
      if (!sheet)
        return;
      under_way.emplace_back(*sheet);
      post(true, sheet->number, sheet->vector_count, {{0, 2 * size}});
    };
    for (uint64_t step = 0; step < 5; ++step) {
      const auto sheet = wire.keeper.open(step % 2 ? gradient(step) : local_steps(left, step), now);
      under_way.emplace_back(sheet);
      post(false, sheet.number, sheet.vector_count, {{0, 2 * size}});
    }
    for (int turn = 0; turn < 2000 && arrived.size() < 5; ++turn) {
      now += 50ms;
      for (const auto& reminder : wire.keeper.due(now))
        std::visit([&](const auto& what) { under_way.emplace_back(what); }, reminder.what);
      for (const auto& question : wire.trainer.due(now))
        under_way.emplace_back(question);
      std::ranges::shuffle(under_way, random);
      auto arriving = std::exchange(under_way, {});
      for (const auto& message : arriving) {
        if (chance(3))
          continue; // lost
        if (chance(2))
          under_way.push_back(message); // comes again
        if (const auto* sheet = std::get_if<order_sheet>(&message)) {
          if (const auto known = wire.trainer.offer(*sheet, now))
            under_way.emplace_back(*known);
        } else if (const auto* result = std::get_if<result_sheet>(&message)) {
          if (const auto whole = wire.keeper.offer(*result, now))
            arrived.push_back(whole->result.first_step);
        } else if (const auto* piece = std::get_if<parcel_piece>(&message)) {
          if (piece->is_result) {
            if (const auto whole = wire.keeper.offer(*piece, now))
              arrived.push_back(whole->result.ticket);
          } else {
            for (const auto& order : wire.trainer.offer(*piece, now)) {
              computed.push_back(order.sheet.number);
              send_result(wire.trainer.finish(answer_to(order)));
            }
          }
        } else {
          const auto& question = std::get<want>(message);
          const auto there = wire.keeper.address_of(question.version);
          if (question.kind == want_kind::results)
            post(true, question.version, wire.trainer.vector_count(question.version),
                 question.elements);
          else if (there)
            post(false, question.version, there->vector_count, question.elements);
        }
      }
    }
    EXPECT_EQ(arrived.size(), 5u) << "seed " << seed;
    std::ranges::sort(computed); // sheets overtake each other here, as on no link
    EXPECT_EQ(computed, (std::vector<uint64_t>{1, 2, 3, 4, 5})) << "seed " << seed;
  }
}

} // namespace troupe
