// A replica alone: it adds what other replicas of its process computed, and holds.

#include "actors/protocol/boundary_messages.hpp"
#include "actors/step/gradient_ranges.hpp"
#include "actors/step/replica.hpp"
#include "coordinators/step/placement.hpp"
#include "models/device/device_model.hpp"
#include "tests/support/heard.hpp"
#include "tests/support/training.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace troupe::replica_test {
namespace {

using namespace std::chrono_literals;

/// A replica on a clock of its own.
class lone_replica : public test::testing_system {
public:
  explicit lone_replica(const replica_options& options) {
    it_ = system_->spawn(replica, options);
    news.term = 1;
    news.relay = system_->spawn(test::played_relay, &heard);
  }

  ~lone_replica() {
    caf::anon_send_exit(it_, caf::exit_reason::kill);
    caf::anon_send_exit(news.relay, caf::exit_reason::kill);
    run();
  }

  void pass(milliseconds time) { scheduler_->advance_time(time); }

  template <class... Message>
  void hear(const Message&... message) {
    caf::anon_send(it_, message...);
    run();
  }

  /// It has these slices.
  void see(const index_range& slices) {
    news.replicas = {{it_, slices}};
    hear(news);
  }

  view news;
  test::heard heard;

private:
  replica_actor it_;
};

TEST(replica_sums, what_others_computed_takes_no_time_but_that_of_adding) {
  replica_options options;
  options.gradients = std::make_shared<buffer_pool>(2);
  options.plan = {8, 4, 2, 2, std::nullopt, 1};
  lone_replica adder{options};
  adder.see({});
  adder.pass(1h); // since the machine began, say
  buffer part{2};
  part.values()[0] = 3;
  part.values()[1] = 4;
  const contribution one{5, {0, 1}, 0, payload{part, 0, 2}, {1.5, 2, 0, 0}, 0, 1};
  adder.hear(summation{1, 5, {0, 1}, {{0}}, {one}});
  ASSERT_EQ(adder.heard.contributions.size(), 1u);
  EXPECT_EQ(adder.heard.contributions[0].gradient_sum.values()[1], 4);
  EXPECT_EQ(adder.heard.contributions[0].computed, 0ns)
    << "the test's clock stands still meanwhile";
}

// What it had begun before a view made it begin anew may be under way: the stop version is beyond it.
TEST(replica_hold, counts_what_was_begun_in_an_earlier_view_of_the_term) {
  const auto data = load_data(test::small_job());
  const auto job = resolve(test::small_job(), shape_of(*data), 1);
  replica_options options;
  options.network = make_model(job, shape_of(*data));
  options.plan = timeline_of(job, shape_of(*data));
  options.rows = std::make_shared<const job_rows>(rows_of(data), options.plan, job.seed, 1);
  const auto size = options.network->layout().size();
  options.gradients = std::make_shared<buffer_pool>(size);
  lone_replica x{options};
  x.news.wired = true;
  x.news.shards = {{{}, {0, block_count(size)}}};
  x.see({0, 8});
  x.hear(horizon{{9, false}, 0});
  x.hear(parameter_span{1, 0, 0, payload{const_buffer{buffer{size}}, 0, size}, {}});
  EXPECT_FALSE(x.heard.contributions.empty()) << "step 0 was begun";
  ++x.news.number;
  ++x.news.restarts;
  x.see({0, 8});
  x.hear(atom::hold_v, uint64_t{1});
  ++x.news.number;
  x.see({}); // a spare now
  x.hear(atom::hold_v, uint64_t{2});
  ++x.news.term; // nothing of the terms before counts
  x.see({0, 8});
  x.hear(atom::hold_v, uint64_t{3});
  EXPECT_EQ(x.heard.first_steps, (std::vector<uint64_t>{1, 1, 0}));
}

/// A model that says how many rooms for gradients it was asked for.
class counted_rooms : public model {
public:
  explicit counted_rooms(std::shared_ptr<const model> does)
    : model(does->feature_count(), does->output_count(), does->loss_with_constants()),
      does_(std::move(does)) {
    layout_ = does_->layout();
  }
  std::span<float> room_there(size_t number, size_t size, workspace& memory) const override {
    rooms = std::max(rooms, number + 1);
    return does_->room_there(number, size, memory);
  }
  batch_sums evaluate(std::span<const float> parameters, const batch& rows,
                      workspace& memory) const override {
    return does_->evaluate(parameters, rows, memory);
  }

  mutable size_t rooms = 0;

private:
  void do_initialize(uint64_t, const index_range&, std::span<float>) const override {}
  batch_sums do_gradient(std::span<const float> parameters, const batch& rows,
                         std::span<float> gradient, workspace& memory,
                         const gradient_listener* listener) const override {
    return does_->gradient(parameters, rows, gradient, memory, listener);
  }
  void do_predict(std::span<const float>, const batch&, std::span<float>,
                  workspace&) const override {}

  std::shared_ptr<const model> does_;
};

/// What a replica of these slices sends in step 0.
std::vector<contribution> sent_by(const std::shared_ptr<const model>& network,
                                  const index_range& slices, size_t batch_size,
                                  number_format exchange) {
  const auto data = load_data(test::small_job());
  const auto job = resolve(test::small_job(), shape_of(*data), 1);
  replica_options options;
  options.network = network;
  options.exchange = exchange;
  options.plan = timeline_of(job, shape_of(*data));
  EXPECT_EQ(options.plan.slice_count, 8u);
  options.plan.batch_size = batch_size;
  options.rows = std::make_shared<const job_rows>(rows_of(data), options.plan, job.seed, 1);
  const auto size = network->layout().size();
  options.gradients = std::make_shared<buffer_pool>(size);
  lone_replica x{options};
  x.news.wired = true;
  x.news.shards = {{{}, {0, block_count(size)}}};
  x.see(slices);
  x.hear(horizon{{9, false}, 0});
  buffer parameters{size};
  make_model(job, shape_of(*data))->initialize(3, parameters.values());
  x.hear(parameter_span{1, 0, 0, payload{const_buffer{parameters}, 0, size}, {}});
  return x.heard.contributions;
}

TEST(replica_sums, a_device_adds_what_the_processor_adds) {
  const auto data = load_data(test::small_job());
  const auto job = resolve(test::small_job(), shape_of(*data), 1);
  const std::shared_ptr<const model> network = make_model(job, shape_of(*data));
  const auto where = open_device(devices_called("0").at(0));
  struct tried {
    index_range slices;
    size_t parts; ///< largest nodes
    size_t rooms; ///< left children that wait at a time, and one in the making
    size_t batch_size = 32;
  };
  // Of five rows in eight slices those of 1, 3, 4, 6 and 7.
  for (const auto& [slices, parts, rooms, batch_size] :
       {tried{{0, 8}, 1, 4}, tried{{1, 7}, 4, 2}, tried{{3, 4}, 1, 1}, tried{{4, 8}, 1, 3},
        tried{{0, 8}, 4, 0, 5}})
    for (const auto exchange : {number_format::float32, number_format::bf16}) {
      const auto counted = std::make_shared<counted_rooms>(
        std::make_shared<device_model>(network, std::vector{where}));
      const auto expected = sent_by(network, slices, batch_size, exchange);
      const auto found = sent_by(counted, slices, batch_size, exchange);
      std::vector<std::pair<tree_node, float_view>> whole[2];
      for (const auto& [from, to] : {std::pair{&expected, &whole[0]}, {&found, &whole[1]}})
        for (const auto& x : *from)
          if (!x.is_begun)
            to->emplace_back(x.node, x.gradient_sum);
      EXPECT_EQ(whole[0].size(), parts);
      EXPECT_TRUE(whole[0] == whole[1]) << slices.begin << ".." << slices.end;
      EXPECT_EQ(counted->rooms, exchange == number_format::float32 ? rooms : 0);
      // What went out early are values of the last sum.
      size_t early = 0;
      for (const auto& x : found)
        if (x.is_begun) {
          ++early;
          EXPECT_EQ(x.gradient_sum,
                    found.back().gradient_sum.part(x.first_element, x.gradient_sum.size()));
        }
      EXPECT_EQ(early > 0, counted->rooms > 0);
    }
}

timeline two_slices() {
  timeline plan;
  plan.row_count = plan.batch_size = 4;
  plan.slice_count = 2;
  return plan;
}

/// The elements [begin, end) of a gradient of one slice, all of this value.
contribution part(size_t slice, size_t begin, size_t end, float value) {
  const buffer values{end - begin};
  std::ranges::fill(values.values(), value);
  contribution result;
  result.node = {slice, slice + 1};
  result.first_element = begin;
  result.gradient_sum = payload{values, 0, values.size()};
  result.sums = {1.0 + static_cast<double>(slice), 2, 0, 0};
  return result;
}

/// A span of ten elements in three ranges: [2, 5), [5, 9), [9, 12).
gradient_ranges three_lanes() {
  return {two_slices(), 0, {2, 12}, {{0, 5}, {5, 9}, {9, 20}}};
}

TEST(gradient_ranges, a_step_is_complete_once_every_lane_is) {
  auto ranges = three_lanes();
  for (const auto& news :
       {part(0, 2, 9, 1), part(1, 2, 5, 2), part(1, 9, 12, 3), part(0, 9, 12, 4)}) {
    EXPECT_EQ(ranges.offer(news), offer_verdict::accepted);
    EXPECT_FALSE(ranges.is_complete());
  }
  EXPECT_EQ(ranges.offer(part(1, 5, 9, 5)), offer_verdict::accepted);
  ASSERT_TRUE(ranges.is_complete());
  const auto sums = ranges.sums(false);
  ASSERT_EQ(sums.size(), 3u);
  EXPECT_EQ(sums[1].elements, (index_range{5, 9}));
  EXPECT_EQ(sums[1].inputs.size(), 2u);
  EXPECT_EQ(sums[1].inputs[0][3], 1.0f) << "slice 0 first, whenever it came";
  EXPECT_EQ(sums[2].inputs[0][0], 4.0f);
  EXPECT_EQ(ranges.total(), (batch_sums{3, 4, 0, 0}));
  ranges.advance();
  EXPECT_EQ(ranges.version(), 1u);
  EXPECT_FALSE(ranges.is_complete());
}

TEST(gradient_ranges, parts_of_lanes_and_elements_of_others_are_malformed) {
  auto ranges = three_lanes();
  EXPECT_FALSE(ranges.fits(part(0, 2, 7, 1))) << "half of a lane";
  EXPECT_FALSE(ranges.fits(part(0, 1, 5, 1))) << "an element that is another's";
  EXPECT_FALSE(ranges.fits(part(0, 12, 20, 1)));
  EXPECT_TRUE(ranges.fits(part(0, 5, 12, 1)));
  EXPECT_EQ(ranges.offer(part(2, 2, 5, 1)), offer_verdict::malformed) << "no such slice";
}

TEST(gradient_ranges, what_comes_twice_is_ignored_and_other_bits_are_a_conflict) {
  auto ranges = three_lanes();
  EXPECT_EQ(ranges.offer(part(0, 2, 9, 1)), offer_verdict::accepted);
  EXPECT_EQ(ranges.offer(part(0, 2, 5, 1)), offer_verdict::duplicate);
  EXPECT_EQ(ranges.offer(part(0, 2, 12, 1)), offer_verdict::accepted) << "a lane of it is new";
  EXPECT_EQ(ranges.offer(part(0, 5, 9, 2)), offer_verdict::conflict);
  auto late = part(0, 2, 5, 1);
  late.step = 3;
  EXPECT_EQ(ranges.offer(late), offer_verdict::early);
}

TEST(gradient_ranges, a_span_that_nobody_splits_is_one_lane) {
  gradient_ranges ranges{two_slices(), 5, {2, 12}, {}};
  auto whole = part(0, 2, 12, 1);
  whole.step = 5;
  whole.node = {0, 2};
  EXPECT_EQ(ranges.offer(whole), offer_verdict::accepted);
  EXPECT_TRUE(ranges.is_complete());
  EXPECT_EQ(ranges.sums(false).size(), 1u);
  auto half = part(0, 2, 7, 1);
  half.step = 5;
  EXPECT_FALSE(ranges.fits(half));
}

} // namespace
} // namespace troupe::replica_test
