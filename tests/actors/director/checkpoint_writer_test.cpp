// Checkpoints that take long to write: the director answers meanwhile, training goes on as far as
// the next one, and nobody is told of an end that is not on the disk. On real threads.

#include "actors/director/checkpoint_writer.hpp"
#include "actors/director/run_tensors.hpp"
#include "tests/support/payloads.hpp"
#include "tests/support/plain_disk.hpp"
#include "tests/support/training.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

namespace troupe::checkpoint_writer_test {
namespace {

using namespace std::chrono_literals;

/// A new file with this in its name is made once the gate is open.
class gated_disk final : public plain_disk {
public:
  explicit gated_disk(std::string name) : name_(std::move(name)) {}

  std::unique_ptr<disk_writer> create(const std::string& path, uint32_t mode) override {
    if (path.find(name_) != std::string::npos) {
      std::unique_lock lock{mutex_};
      is_waiting_ = true;
      changed_.notify_all();
      changed_.wait(lock, [this] { return is_open_; });
    }
    return plain_disk::create(path, mode);
  }

  void open() {
    const std::lock_guard lock{mutex_};
    is_open_ = true;
    changed_.notify_all();
  }

  /// True once somebody waits at the gate.
  bool holds_somebody() {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, 60s, [this] { return is_waiting_; });
  }

private:
  std::string name_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_waiting_ = false;
  bool is_open_ = false;
};

/// 15 steps, checkpoints at 4, 8, 12 and at the end.
job checkpointed_job() {
  auto x = test::small_job();
  x.checkpoint.every_steps = 4;
  return x;
}

class slow_disk_run {
public:
  explicit slow_disk_run(const std::string& held_name)
    : disk(std::make_shared<gated_disk>(held_name)) {
    const auto x = checkpointed_job();
    const auto data = load_data(x);
    company_options options;
    options.checkpoints = std::make_shared<checkpoint_store>(disk, "run", 100);
    company_.emplace(*host_.system, resolve(x, shape_of(*data), 2), data, options);
    self_->send(company_->director(), atom::watch_v, caf::actor_cast<observer_actor>(self_));
    self_->send(company_->director(), atom::begin_v);
  }

  ~slow_disk_run() {
    disk->open(); // else nothing here would ever end
    end();
  }
  slow_disk_run(const slow_disk_run&) = delete;
  slow_disk_run& operator=(const slow_disk_run&) = delete;

  training_status status() {
    training_status result;
    self_->request(company_->director(), 10s, atom::status_v)
      .receive([&](const training_status& news) { result = news; },
               [&](const caf::error& problem) { ADD_FAILURE() << host_.system->render(problem); });
    return result;
  }

  /// The status once it says that a checkpoint is waited for.
  training_status status_when_it_waits() {
    auto result = status();
    for (size_t i = 0; i < 6'000 && result.waits_for != "a checkpoint to be written"; ++i) {
      std::this_thread::sleep_for(10ms);
      result = status();
    }
    return result;
  }

  /// The end, if it is told within this time.
  std::optional<training_finished> finished(milliseconds within) {
    std::optional<training_finished> result;
    for (bool is_over = false; !result && !is_over;)
      self_->receive([](const training_progress&) {},
                     [&](const training_finished& news) { result = news; },
                     caf::after(within) >> [&] { is_over = true; });
    return result;
  }

  std::vector<float> parameters() {
    std::vector<float> result;
    self_->request(company_->director(), 10s, atom::pull_v)
      .receive([&](const trained_model& whole) { result = test::values_of(whole.parameters); },
               [](const caf::error&) {});
    return result;
  }

  void end() { company_.reset(); }

  std::shared_ptr<gated_disk> disk;

private:
  test::real_system host_{2};
  caf::scoped_actor self_{*host_.system};
  std::optional<company> company_;
};

std::vector<uint64_t> versions_on(const std::shared_ptr<gated_disk>& disk) {
  return checkpoint_store{disk, "run", 100}.versions();
}

TEST(checkpoint_writer, status_is_answered_while_a_checkpoint_is_written_and_training_goes_on) {
  slow_disk_run run{"checkpoint-000000000004"};
  ASSERT_TRUE(run.disk->holds_somebody());
  const auto status = run.status_when_it_waits();
  EXPECT_EQ(status.phase, "training");
  EXPECT_EQ(status.version, 8u) << "as far as the next checkpoint, and no further";
  EXPECT_FALSE(run.finished(200ms));
  EXPECT_EQ(run.status().version, 8u);
  run.disk->open();
  const auto finished = run.finished(60s);
  ASSERT_TRUE(finished);
  EXPECT_FALSE(finished->failed) << finished->problem;
  EXPECT_EQ(finished->version, 15u);
  EXPECT_EQ(run.parameters(), test::values_of(test::train_on(2, test::small_job()).parameters));
  run.end();
  EXPECT_EQ(versions_on(run.disk), (std::vector<uint64_t>{4, 8, 12, 15})) << "none is left out";
}

TEST(checkpoint_writer, a_run_is_over_once_its_last_checkpoint_is_written) {
  slow_disk_run run{"checkpoint-000000000015"};
  ASSERT_TRUE(run.disk->holds_somebody());
  const auto status = run.status_when_it_waits();
  EXPECT_EQ(status.phase, "stopping");
  EXPECT_EQ(status.version, 15u);
  EXPECT_FALSE(run.finished(200ms));
  run.disk->open();
  const auto finished = run.finished(60s);
  ASSERT_TRUE(finished);
  EXPECT_FALSE(finished->failed) << finished->problem;
  EXPECT_EQ(versions_on(run.disk).back(), 15u);
}

TEST(checkpoint_writer, training_begins_once_the_term_is_written) {
  slow_disk_run run{"term"};
  ASSERT_TRUE(run.disk->holds_somebody());
  EXPECT_EQ(run.status().phase, "waiting");
  EXPECT_EQ(run.status().waits_for, "the term to be written");
  EXPECT_FALSE(run.finished(100ms));
  EXPECT_EQ(run.status().version, 0u);
  run.disk->open();
  const auto finished = run.finished(60s);
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->version, 15u);
}

TEST(checkpoint_writer, ends_with_its_director_once_the_write_at_hand_is_done) {
  slow_disk_run run{"checkpoint-000000000004"};
  ASSERT_TRUE(run.disk->holds_somebody());
  EXPECT_EQ(run.status_when_it_waits().version, 8u)
    << "all of it is ordered, not a part of it alone";
  std::atomic<bool> has_opened = false;
  std::thread opener{[&] {
    std::this_thread::sleep_for(100ms);
    has_opened = true;
    run.disk->open();
  }};
  run.end();
  EXPECT_TRUE(has_opened);
  opener.join();
  EXPECT_EQ(versions_on(run.disk), (std::vector<uint64_t>{4})) << "what was begun is whole";
}

// Checkpoints in the making: ten parameters and one slot, of two shards with a span, one without.

using test::counting_from;

constexpr size_t size = 10;

class checkpoint_drafts_test : public testing::Test {
protected:
  checkpoint_drafts_test() {
    exchange.begin_term(1);
    for (const auto who : {a, b})
      exchange.link_opened(who, 1, true);
    drafts.begin_term({{a, {0, 6}}, {b, {6, size}}, {b, {size, size}}});
  }

  void expect(uint64_t version) {
    if (auto what = drafts.expect(version))
      exchange.expect(std::move(*what), now);
  }
  void remember(uint64_t version) {
    expect(version);
    checkpoint memory;
    memory.version = version;
    memory.term = 1;
    memory.seconds = 1.5;
    drafts.set_memory(std::move(memory), now);
    exchange.set_sources(tensor_kind::state, version, {0, size}, drafts.owners());
  }
  /// Elements of a tensor, of which the first is `from` + its number.
  void bring(uint64_t version, uint64_t part, float from, const index_range& elements = {0, size}) {
    bring(version, part, elements.begin,
          counting_from(from + static_cast<float>(elements.begin), elements.size()));
  }
  void bring(uint64_t version, uint64_t part, uint64_t first, const payload& values) {
    exchange.on_piece(a, {{tensor_kind::state, 1, version, only_leaf, part}, first, values, {}, {}},
                      now);
    exchange.take_effects(effects);
    for (const auto& effect : effects)
      if (const auto* news = std::get_if<tensor_arrived>(&effect))
        drafts.on_arrived(*news);
  }
  void bring_tensors(uint64_t version) {
    bring(version, 0, 0);
    bring(version, 1, 20);
  }
  void tell_numbers(uint64_t version) {
    drafts.on_numbers({version, 0, {1, 2}, true, {3, 4, 0, 0}});
    drafts.on_numbers({version, 6, {}, false, {9, 9, 9, 9}});
  }

  static constexpr peer_id a{1}, b{2};
  moment now{};
  tensor_exchange exchange{{}};
  /// What went to files: by version and part.
  std::map<std::pair<uint64_t, uint64_t>, std::vector<float>> written;
  size_t elements_written = 0;
  checkpoint_drafts drafts{
    size, 1, [this](const checkpoint_range& where, const float_view& x) {
      EXPECT_EQ(where.parameter_count, size);
      EXPECT_EQ(where.slot_count, 1u);
      auto& to = written[{where.version, where.part}];
      to.resize(size);
      std::ranges::copy(x.values(), to.begin() + static_cast<std::ptrdiff_t>(where.first_element));
      elements_written += x.size();
    }};
  std::vector<exchange_effect> effects;
};

TEST_F(checkpoint_drafts_test, one_is_complete_with_memory_tensors_and_numbers_whatever_is_last) {
  for (const uint64_t last : {0, 1, 2, 3}) {
    const auto version = 5 + last;
    expect(version);
    const auto give = [&](uint64_t what) {
      if (what < 2)
        bring(version, what, static_cast<float>(20 * what));
      else
        what == 2 ? tell_numbers(version) : remember(version);
    };
    for (const uint64_t what : {3, 2, 1, 0})
      if (what != last)
        give(what);
    EXPECT_FALSE(drafts.take_complete()) << "what is missing: " << last;
    give(last);
    const auto whole = drafts.take_complete();
    ASSERT_TRUE(whole) << last;
    EXPECT_EQ(whole->version, version);
    EXPECT_EQ(whole->seconds, 1.5);
    EXPECT_EQ((written.at({version, 0})[9]), 9);
    EXPECT_EQ((written.at({version, 1})[9]), 29);
    EXPECT_EQ(whole->slots.size(), 1u) << "as many as are in the file";
    EXPECT_FALSE(whole->parameters);
    EXPECT_EQ(whole->optimizer_numbers, (std::vector<double>{1, 2})) << "not of who has none";
    EXPECT_EQ(whole->metrics, (batch_sums{3, 4, 0, 0})) << "from the shard that keeps it";
    EXPECT_FALSE(drafts.take_complete());
  }
}

TEST_F(checkpoint_drafts_test, owners_are_asked_once_the_director_remembers_the_version) {
  expect(5);
  bring(5, 0, 0);
  bring(5, 1, 20, {4, 8});
  EXPECT_TRUE(exchange.awaited().empty());
  EXPECT_FALSE(drafts.is_awaiting());
  remember(5);
  EXPECT_TRUE(drafts.is_awaiting());
  const tensor_name slot{tensor_kind::state, 1, 5, only_leaf, 1};
  const auto missing = exchange.awaited();
  ASSERT_EQ(missing.size(), 2u);
  EXPECT_EQ(missing[0].to, a);
  EXPECT_EQ(missing[0].what, (tensor_want{slot, {{0, 4}}}));
  EXPECT_EQ(missing[1].to, b);
  EXPECT_EQ(missing[1].what, (tensor_want{slot, {{8, 10}}}));
}

TEST_F(checkpoint_drafts_test, numbers_are_asked_for_beside_tensors_that_are_here) {
  remember(5);
  drafts.on_numbers({5, 0, {}, true, {}});
  now += 200ms;
  EXPECT_TRUE(drafts.due(now).empty()) << "they come with the tensors";
  bring_tensors(5);
  EXPECT_TRUE(drafts.due(now + 399ms).empty());
  const auto questions = drafts.due(now + 400ms);
  ASSERT_EQ(questions.size(), 1u) << "not of a span without elements";
  EXPECT_EQ(questions[0].to, b);
  EXPECT_EQ(questions[0].what, (tensor_want{{tensor_kind::state, 1, 5}, {}}));
}

TEST_F(checkpoint_drafts_test, numbers_count_once_and_those_of_unknown_versions_not_at_all) {
  remember(5);
  bring_tensors(5);
  EXPECT_FALSE(drafts.on_numbers({4, 0, {7}, true, {7, 7, 0, 0}}));
  EXPECT_TRUE(drafts.on_numbers({5, 0, {1}, true, {1, 1, 0, 0}}));
  EXPECT_FALSE(drafts.on_numbers({5, 0, {8}, true, {8, 8, 0, 0}}));
  EXPECT_TRUE(drafts.on_numbers({5, 6, {}, false, {}}));
  const auto whole = drafts.take_complete();
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->optimizer_numbers, std::vector<double>{1});
  EXPECT_EQ(whole->metrics.sample_count, 1u);
}

TEST_F(checkpoint_drafts_test, a_complete_one_ends_those_before_it_and_none_that_is_later) {
  for (const uint64_t version : {5, 6, 7})
    remember(version);
  tell_numbers(6);
  bring_tensors(6);
  EXPECT_EQ(drafts.take_complete().value().version, 6u);
  tell_numbers(5);
  bring_tensors(5);
  EXPECT_FALSE(drafts.take_complete());
  tell_numbers(7);
  bring_tensors(7);
  EXPECT_EQ(drafts.take_complete().value().version, 7u);
  EXPECT_FALSE(drafts.is_awaiting());
}

TEST_F(checkpoint_drafts_test, versions_that_will_not_be_reached_are_dropped) {
  for (const uint64_t version : {5, 6})
    remember(version);
  drafts.drop_from(6);
  tell_numbers(6);
  bring_tensors(6);
  EXPECT_FALSE(drafts.take_complete());
  EXPECT_TRUE(drafts.is_awaiting());
  drafts.drop_from(0);
  EXPECT_FALSE(drafts.is_awaiting());
}

TEST_F(checkpoint_drafts_test, each_element_is_written_once_whatever_comes_again) {
  remember(5);
  tell_numbers(5);
  for (const index_range& elements : {index_range{3, 7}, {0, 5}, {3, 7}, {6, size}, {0, size}})
    for (const uint64_t part : {0, 1})
      bring(5, part, static_cast<float>(20 * part), elements);
  EXPECT_EQ(elements_written, 2 * size);
  EXPECT_EQ((written.at({5, 0})), test::values_of(counting_from(0, size)));
  EXPECT_EQ((written.at({5, 1})), test::values_of(counting_from(20, size)));
  ASSERT_TRUE(drafts.take_complete());
}

// Else the director's memory would be that of whole models.
TEST_F(checkpoint_drafts_test, nothing_of_what_was_written_is_held) {
  remember(5);
  buffer_pool pool{size};
  bring(5, 1, 0, payload{const_buffer{pool.acquire()}, 0, size});
  EXPECT_EQ(elements_written, size);
  effects.clear();
  pool.acquire();
  EXPECT_EQ(pool.made_count(), 1u) << "it came back";
}

} // namespace
} // namespace troupe::checkpoint_writer_test
