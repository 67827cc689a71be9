// Owners of spans that follow one sequence come to the model, and the saved state, that one owner of all elements has:
// every bit of it, in every mode whose vectors may be cut.

#include "coordinators/modes/gradient_span.hpp"
#include "coordinators/modes/merged_span.hpp"
#include "tests/support/models.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>

namespace troupe::owned_spans_test {
namespace {

using test::buffer_of;
using test::floats;
using test::values_of;
using enum entry_kind;

constexpr size_t size = 23;
const std::vector<index_range> spans{{0, 7}, {7, 8}, {8, 23}};

floats part_of(const floats& whole, const index_range& elements) {
  return {whole.begin() + static_cast<std::ptrdiff_t>(elements.begin),
          whole.begin() + static_cast<std::ptrdiff_t>(elements.end)};
}

buffer slot_of(const floats& values) {
  const buffer result{values.size()};
  std::ranges::copy(values, result.values().begin());
  return result;
}

span_vectors part_of(const span_vectors& whole, const index_range& elements) {
  std::vector<buffer> slots;
  for (const auto& slot : whole.state.slots()) {
    const auto part = slot.values().subspan(elements.begin, elements.size());
    slots.push_back(slot_of({part.begin(), part.end()}));
  }
  return {buffer_of(part_of(values_of(whole.values), elements)), optimizer_state{slots}};
}

using maker = std::function<std::unique_ptr<span_model>(const floats&, const index_range&)>;

/// One owner of all elements, and one of each span.
class owners {
public:
  owners(const maker& make, const floats& initial) {
    all_.emplace_back(make(initial, {0, size}));
    for (const auto& one : spans)
      all_.emplace_back(make(part_of(initial, one), one));
  }

  void follow(const sequence_entry& entry) {
    decisions_.write(entry);
    const auto next = decisions_.take(0).front();
    for (auto& one : all_)
      ASSERT_TRUE(one.follow(next));
  }
  /// An update that `make` makes of what the whole owner gives.
  void put(uint64_t task, const span_vectors& update) {
    all_[0].put(task, {update.values, update.state.copy()});
    for (size_t k = 0; k < spans.size(); ++k)
      all_[k + 1].put(task, part_of(update, spans[k]));
  }
  const span_vectors& given(uint64_t task) const { return all_[0].find(task)->vectors; }

  void expect_equal(const std::string& what) {
    const auto whole = all_[0].evaluated();
    state_saver saver{size};
    all_[0].model().save(saver);
    const auto saved = saver.take();
    for (size_t k = 0; k < spans.size(); ++k) {
      const auto own = all_[k + 1].evaluated();
      EXPECT_EQ(own.number, whole.number) << what;
      EXPECT_EQ(values_of(own.values), part_of(values_of(whole.values), spans[k])) << what;
      state_saver own_saver{spans[k].size()};
      all_[k + 1].model().save(own_saver);
      const auto part = own_saver.take();
      ASSERT_EQ(part.shape(), saved.shape()) << what;
      EXPECT_EQ(part.numbers, saved.numbers) << what;
      for (size_t i = 0; i < saved.vectors.size(); ++i)
        EXPECT_TRUE(
          same_bits(values_of(part.vectors[i]), part_of(values_of(saved.vectors[i]), spans[k])))
          << what << ", vector " << i;
    }
  }

private:
  static bool same_bits(const floats& a, const floats& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
  }

  sequence decisions_;
  std::vector<sequence_follower> all_;
};

class drawn {
public:
  explicit drawn(uint64_t seed) : random_(seed) {}

  uint64_t below(uint64_t limit) { return random_() % limit; }
  floats values(double scale) {
    floats result(size);
    for (auto& x : result)
      x = static_cast<float>(scale * (static_cast<double>(below(2001)) / 1000 - 1));
    return result;
  }

private:
  std::mt19937_64 random_;
};

void run_gradients(const std::string& what, const gradient_span_options& options, size_t at_once) {
  const auto make = [&](const floats& initial, const index_range& elements) {
    auto own = options;
    own.first_element = elements.begin;
    auto result = std::make_unique<gradient_span>(own);
    result->begin(buffer_of(initial), {options.optimizer, {{3, 9}, {12, 20}}, {{5, 7}}});
    return result;
  };
  for (uint64_t seed = 0; seed < 20; ++seed) {
    drawn random{seed};
    owners all{make, random.values(1)};
    std::vector<uint64_t> open;
    uint64_t last = 0, held = 0;
    for (int turn = 0; turn < 60; ++turn) {
      if (open.size() < 4) {
        open.push_back(++last);
        all.follow({.kind = give, .number = last});
      }
      if (random.below(2) == 0)
        continue;
      const auto at = static_cast<std::ptrdiff_t>(random.below(open.size()));
      const auto task = open[static_cast<size_t>(at)];
      open.erase(open.begin() + at);
      if (random.below(5) == 0) {
        all.follow({.kind = drop, .number = task});
        continue;
      }
      all.put(task, {buffer_of(random.values(3)), {}});
      const double scale = random.below(2) == 0 ? 1 : 0.25;
      all.follow(
        {.kind = take, .number = task, .sample_count = 1 + random.below(9), .step_scale = scale});
      if (++held < at_once)
        continue;
      held = 0;
      all.follow({.kind = close});
      all.expect_equal(what + ", seed " + std::to_string(seed));
    }
  }
}

TEST(owned_spans, of_gradients_are_the_model_of_one_owner) {
  gradient_span_options adam{.held_max = 1};
  adam.optimizer.kind = optimizer_kind::adam;
  adam.optimizer.l2 = 0.01;
  run_gradients("adam, two gradients a step", adam, 2);
  gradient_span_options sgd;
  sgd.optimizer.learning_rate = 0.1;
  sgd.optimizer.momentum = 0.9;
  sgd.optimizer.weight_decay = 0.01;
  sgd.optimizer.clip_value = 0.5;
  run_gradients("sgd", sgd, 1);
  sgd.compensation = delay_compensation_options{.adaptive = true};
  run_gradients("delay compensation", sgd, 1);
}

void run_members(const std::string& what, const merged_span_options& options) {
  const auto make = [&](const floats& initial, const index_range&) {
    return std::make_unique<merged_span>(options, buffer_of(initial));
  };
  for (uint64_t seed = 0; seed < 20; ++seed) {
    drawn random{seed};
    owners all{make, random.values(1)};
    uint64_t task = 0;
    for (uint64_t round = 1; round < 6; ++round) {
      for (uint64_t member = 0; member < options.member_count; ++member) {
        all.follow({.kind = give, .number = ++task, .place = member});
        if (member == 2 && random.below(3) == 0) { // it is left out
          all.follow({.kind = drop, .number = task});
          continue;
        }
        auto values = values_of(all.given(task).values);
        const auto moved = random.values(2);
        for (size_t i = 0; i < size; ++i)
          values[i] += moved[i];
        std::vector<buffer> slots;
        for (size_t k = 0; k < options.slot_count; ++k)
          slots.push_back(slot_of(random.values(1)));
        all.put(task, {buffer_of(values), optimizer_state{slots}});
        all.follow(
          {.kind = take, .number = task, .place = member, .sample_count = 1 + random.below(50)});
      }
      all.follow({.kind = close, .round = round});
      all.expect_equal(what + ", seed " + std::to_string(seed));
    }
  }
}

TEST(owned_spans, of_members_are_the_model_of_one_owner) {
  const merged_span_options plain{.member_count = 5, .slot_count = 2};
  run_members("average", plain);
  auto x = plain;
  x.merge = {.rule = merge_rule::weighted, .weighting = merge_weighting::samples};
  x.averaging = {averaging_kind::exponential, 0.5, 2};
  run_members("weighted, averaged", x);
  x = plain;
  x.merge.rule = merge_rule::median;
  x.outer.kind = outer_kind::adam;
  run_members("median, outer adam", x);
  x.merge.rule = merge_rule::trimmed_mean;
  x.merge.trimmed_count = 1;
  x.outer = {.kind = outer_kind::sgd, .momentum = 0.9, .nesterov = true};
  run_members("trimmed mean, outer sgd", x);
  x = plain;
  x.elastic_alpha = 0.1;
  run_members("elastic", x);
}

TEST(owned_spans, of_clients_are_the_model_of_one_owner) {
  const merged_span_options options{.merge = {.rule = merge_rule::median},
                                    .outer = {.kind = outer_kind::yogi},
                                    .averaging = {averaging_kind::mean, 0, 0},
                                    .sums = {16, 8, 8}};
  const auto make = [&](const floats& initial, const index_range&) {
    return std::make_unique<merged_span>(options, buffer_of(initial));
  };
  for (uint64_t seed = 0; seed < 20; ++seed) {
    drawn random{seed};
    owners all{make, random.values(1)};
    uint64_t task = 0;
    for (uint64_t round = 1; round < 6; ++round) {
      for (uint64_t group = 0; group < 3; ++group) {
        all.follow({.kind = give, .number = ++task, .place = group});
        const auto start = values_of(all.given(task).values);
        ring_sum sum{options.sums, size};
        auto moved = random.values(1);
        for (size_t i = 0; i < size; ++i)
          moved[i] += start[i];
        sum.add(start, moved, 2, measure_update(start, moved));
        const buffer low{size}, high{size};
        split_words(sum.words(), low.values(), high.values());
        all.put(task, {low, optimizer_state{std::vector<buffer>{high}}});
        all.follow({.kind = take, .number = task, .place = group, .sample_count = 2});
      }
      const bool is_void = random.below(4) == 0;
      all.follow({.kind = close, .round = round, .is_void = is_void});
      all.expect_equal("clients, seed " + std::to_string(seed));
    }
  }
}

} // namespace
} // namespace troupe::owned_spans_test
