// Every message type survives the wire, with the values CAF's own encoding would lose.

#include "actors/net/links/messages.hpp"
#include "actors/net/names/messages.hpp"
#include "actors/protocol/boundary_messages.hpp"
#include "actors/protocol/collective_messages.hpp"
#include "actors/protocol/coordinator_messages.hpp"
#include "actors/protocol/payload.hpp"
#include "actors/protocol/status_messages.hpp"
#include "actors/protocol/task_messages.hpp"
#include "actors/protocol/tensor_messages.hpp"
#include "actors/protocol/write_messages.hpp"
#include "actors/run/configure.hpp"
#include "coordinators/exchange/link_limits.hpp"
#include "tests/support/payloads.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/binary_deserializer.hpp>
#include <caf/binary_serializer.hpp>
#include <caf/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace troupe::protocol_test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

class protocol : public ::testing::Test {
protected:
  protocol() {
    configure(config_);
    system.emplace(config_);
  }

  std::vector<char> saved(const auto& message) {
    std::vector<char> bytes;
    caf::binary_serializer sink{*system, bytes};
    auto copy = message;
    EXPECT_FALSE(sink(copy));
    return bytes;
  }

  template <class T>
  caf::error load(const std::vector<char>& bytes, T& into) {
    caf::binary_deserializer source{*system, bytes};
    return source(into);
  }

  template <class T>
  bool is_read(const std::vector<char>& bytes) {
    T loaded{};
    return !load(bytes, loaded);
  }

  /// No beginning of it is read as a whole.
  template <class T>
  void expect_every_cut_is_refused(const T& message) {
    auto bytes = saved(message);
    while (!bytes.empty()) {
      bytes.pop_back();
      EXPECT_FALSE(is_read<T>(bytes)) << typeid(T).name() << ' ' << bytes.size();
    }
  }

  /// `values_of` names the values of the message.
  template <class T>
  void expect_flipped_bits_are_noticed(const T& message, const auto& values_of) {
    const auto bytes = saved(message);
    const auto size = values_of(message).values().size_bytes();
    const auto* values = reinterpret_cast<const char*>(values_of(message).values().data());
    const auto begin =
      std::search(bytes.begin(), bytes.end(), values, values + size) - bytes.begin();
    ASSERT_LE(static_cast<size_t>(begin) + size, bytes.size());
    for (size_t bit = 0; bit < 8 * size; ++bit) {
      auto damaged = bytes;
      auto& hit = damaged[static_cast<size_t>(begin) + bit / 8];
      hit = static_cast<char>(hit ^ (1 << bit % 8));
      T loaded{};
      ASSERT_FALSE(load(damaged, loaded));
      EXPECT_FALSE(values_of(loaded).intact()) << "bit " << bit;
    }
  }

  template <class T>
  void expect_survives(const T& message) {
    T loaded{};
    EXPECT_FALSE(load(saved(message), loaded)) << typeid(T).name();
    EXPECT_EQ(message, loaded) << typeid(T).name();
  }

  template <class Block, size_t... Indices>
  void expect_block_survives(std::index_sequence<Indices...>) {
    (expect_empty_one_survives<
       typename caf::type_by_id<static_cast<caf::type_id_t>(Block::begin + Indices)>::type>(),
     ...);
  }

  template <class Block>
  void expect_block_survives() {
    expect_block_survives<Block>(std::make_index_sequence<Block::end - Block::begin>{});
  }
  /// All but those that never leave their process.
  template <class T>
  void expect_empty_one_survives() {
    if constexpr (!caf::allowed_unsafe_message_type<T>::value)
      expect_survives(T{});
  }

  caf::actor_system_config config_;
  std::optional<caf::actor_system> system;
};

using test::payload_of;

const speaker process_b{"b", false};

collective_part some_part() {
  return {7, 2, collective_kind::scatter, 1, collective_stage::scatter, 9, payload_of({-0.0f, 2})};
}

/// Elements of a tensor of each kind, with every field used.
std::vector<tensor_piece> pieces_of_all_kinds() {
  std::vector<tensor_piece> result;
  for (size_t kind = 0; kind < tensor_kind_count; ++kind)
    result.push_back({{static_cast<tensor_kind>(kind), 3, 10, {2, 4}, 6},
                      4096,
                      payload_of({-0.0f, 2, 3}),
                      {{1, 2, 3, UINT64_MAX}, {4, 5}},
                      {7, 300}});
  return result;
}

TEST_F(protocol, every_registered_type_survives_the_wire) {
  expect_block_survives<caf::id_block::troupe_messages>();
  expect_block_survives<caf::id_block::troupe_handles>();
}

TEST_F(protocol, infinities_nans_and_subnormals_keep_their_bits) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  contribution message;
  message.step = 7;
  message.node = {2, 4};
  message.gradient_sum = payload_of(
    {std::numeric_limits<float>::infinity(), tiny, -0.0f, std::numeric_limits<float>::quiet_NaN()});
  message.sums = {infinity, 3, 2, std::numeric_limits<double>::denorm_min()};
  message.replica = 5;
  message.computed = std::chrono::nanoseconds{6};
  expect_survives(message);
}

trainer_figures some_figures() {
  using std::chrono::nanoseconds;
  return {3,
          {{{"a", 2},
            trainer_statistics(
              1, 2, nanoseconds{3}, nanoseconds{4}, nanoseconds{5}, nanoseconds{6}, nanoseconds{7},
              8, 9, 10, 11, std::array<uint64_t, lag_class_count>{12, 13, 14, 15, 16, 17, 18, 19})},
           {{"b", 0}, {}, "slices 0-3"}},
          {"step 17: row 3 of the data"}};
}

TEST_F(protocol, filled_progress_and_results_survive) {
  training_progress progress;
  progress.train_loss = infinity;
  progress.train_accuracy = 0.25;
  progress.finished_epoch = history_row{
    {2.5, 0.5, std::nullopt, 0.75, -infinity, 0.25, std::nullopt, -1.0}, 3, 30, 1.5, 0.01};
  expect_survives(progress);
  training_finished finished({5, 6, 7}, 4, 1, "why", true, 74, "a path", "what to do", 11, 0.5,
                             {*progress.finished_epoch}, {4, 9}, {{1, 2, 3}}, true, 3, 4,
                             {{"a", 5}}, traffic{{8, 1, 2}, 9, 10}, some_figures());
  expect_survives(finished);
  expect_survives(not_finite_report{9, 3, "x", true, 1, 2, step_problem::unsolvable});
  expect_survives(evaluation{9, 2, 5, {{1, 2, 3, 4}, {5, 6, 7, 8}}});
  expect_survives(training_report{9, 3, {1, 2, 3, 4}, true, true, 0.25, "!"});
  expect_survives(span_hash{9, 3, {2, 5}, {{1, 2}, {3, 4}}});
  expect_survives(parameter_span{9, 4, 1, payload_of({1, 2}), payload_of({3, 4})});
  training_status status;
  status.phase = "training";
  status.version = 7;
  status.steps_per_second = 0.5;
  status.view = {3, 2};
  status.late = {{"b", {"gradients"}, milliseconds{1400}, milliseconds{900}}};
  status.nodes = {node_status("a", true, true, true, 1, 2, 3, 4, 5, {6, 7}, {{"b", "gradients"}},
                              0.25, 8, traffic{{9, 8}, 10, 11}, {"spare", "slice 2"},
                              {{"replica 0", "slice 4", milliseconds{7}, milliseconds{6}}}, 0.5,
                              "refused")};
  static_cast<status_of_waits&>(status) = {{{"a", "b", 1, 2, 3, 4, 0.5, milliseconds{6}}},
                                           {{{"b", 1}, 2, 3, 0.25, 0.5, 4}},
                                           2.5,
                                           "somebody"};
  status.figures = some_figures();
  expect_survives(status);
  expect_survives(horizon{{12, true, {4, 9}, true}, 10});
  expect_survives(block_sums{7, 2, {0.5, infinity, std::numeric_limits<double>::denorm_min()}, 3});
}

TEST_F(protocol, messages_between_processes_survive) {
  expect_survives(cluster_view{{3, 2},
                               40,
                               {{"a", 7, 2, 1, 8}, {"b", 9, 0, 3}},
                               {{0, 1, {2, 4}}},
                               {{1, 2, {0, 5}}},
                               true,
                               {{1, {0, 3}}, {0, {3, 5}}},
                               2,
                               7});
  expect_survives(copies_request{4, 3});
  expect_survives(directive{3, 8, {12, true, {4, 9}, true}, 10, 6, 9, 77});
  expect_survives(given_up{7});
  expect_survives(hold_request{3, 9});
  expect_survives(hold_answer{"a", {3, 2}, 11, {10, 11}});
  expect_survives(shard_numbers{10, 4096, {infinity, -0.0}, true, {1, 2, 3, 4}});
  expect_survives(node_report("a", 7, {3, 2}, 9, 10, {9, 10}, {{1, 2, 3}}, 6, {"b"}, {"c"},
                              traffic{{60, 40}, 50, 2}, {{"b", "gradients"}},
                              {milliseconds{40},
                               milliseconds{30},
                               milliseconds{20},
                               {{"replica 0", "slice 4", milliseconds{7}, milliseconds{6}}}},
                              1, some_figures(), {7, 8, 9}, {{"b", 1, 2, 3, 4, 5, 6}}, {},
                              {4, {{8, {{0, 1}, {3, 4}}}, {9, {}}}}, true));
}

TEST_F(protocol, tensors_and_all_that_is_said_of_them_survive) {
  for (const auto& by : {process_b, speaking_director()}) {
    for (const auto& piece : pieces_of_all_kinds()) {
      expect_survives(sent_piece{{by, piece}});
      expect_survives(sent_want{{by, {piece.of, {{0, 4096}, {5000, 6000}}, true}}});
    }
    expect_survives(sent_credit{{by, {7, 200}}});
    expect_survives(sent_stamp{{by, {7, UINT64_MAX}}});
  }
}

TEST_F(protocol, a_kind_that_does_not_exist_is_refused) {
  sent_want question;
  question.what.of.kind = static_cast<tensor_kind>(tensor_kind_count - 1);
  expect_survives(question);
  for (const auto kind : {tensor_kind_count, size_t{255}}) {
    question.what.of.kind = static_cast<tensor_kind>(kind);
    EXPECT_FALSE(is_read<sent_want>(saved(question)));
    sent_piece piece;
    piece.what.of = question.what.of;
    EXPECT_FALSE(is_read<sent_piece>(saved(piece)));
  }
  auto part = some_part();
  part.kind = static_cast<collective_kind>(6);
  EXPECT_FALSE(is_read<collective_part>(saved(part)));
  part = some_part();
  part.stage = static_cast<collective_stage>(2);
  EXPECT_FALSE(is_read<collective_part>(saved(part)));
  auto verdict = saved(update_report{member_verdict::join_again, "", 0, 0});
  verdict.front() = 5;
  EXPECT_FALSE(is_read<update_report>(verdict));
}

TEST_F(protocol, tasks_and_what_comes_of_them_survive) {
  expect_survives(
    task_header{1, 9, 2, true, 7, task_kind::local_steps, 3, 4, 5, 6, {7, 8}, 12, 2, {8, 9}, 10});
  expect_survives(
    task_header{1, 9, 2, false, 7, task_kind::local_steps, 3, 4, 5, 6, {}, {}, 3, {}, 10});
  expect_survives(result_header{1, 9, {infinity, 2, 3, 4}, false, 5, 2, true});
}

TEST_F(protocol, decisions_and_how_far_owners_are_survive) {
  sequence_entry all{entry_kind::mark, 1, 2, 3, 4, 5, 6, 0.5, 7, 8};
  all.is_void = all.is_late = all.evaluates = all.is_row = all.is_saved = true;
  all.version = 9;
  all.worker = "b";
  expect_survives(sequence_news{3, {all, {.kind = entry_kind::give}}});
  expect_survives(span_progress{3, 1, 70, {4, evaluation_of(2)}});
}

TEST_F(protocol, messages_of_links_and_of_applications_survive) {
  expect_survives(introduction{{"a", 7, 2, 1}, {}, {}, {}, true});
  expect_survives(farewell{69, "why"});
  expect_survives(online_batch{payload_of({1, 2}), {3, -1}, payload_of({0.5f})});
  expect_survives(online_report{4, online_verdict::loss_grew, 3, infinity, 0.5, -infinity, "why"});
  expect_survives(name_introduction{"home", {}, {{"main", nullptr}}, true});
  expect_survives(membership{7, uint64_t{1} << 60, false, 120});
  expect_survives(member_work{work_verdict::wait, "why", 5, 6, payload_of({1})});
  expect_survives(member_update{{1, 2, true, 2}, 5, payload_of({1, -0.0f}), 32});
  expect_survives(update_report{member_verdict::held, "why", 2, 6});
}

// One beside the values ends the connection (tests/actors/net/socket/checked_session_test.cpp).
TEST_F(protocol, a_flipped_bit_among_values_is_noticed) {
  const auto of_piece = [](const sent_piece& x) -> auto& {
    return x.what.values;
  };
  const auto of_part = [](const collective_part& x) -> auto& {
    return x.values;
  };
  for (const auto& piece : pieces_of_all_kinds())
    expect_flipped_bits_are_noticed(sent_piece{{process_b, piece}}, of_piece);
  expect_flipped_bits_are_noticed(some_part(), of_part);
}

TEST_F(protocol, a_payload_longer_than_its_message_is_refused_before_allocating) {
  auto bytes = saved(payload_of({1, 2, 3}));
  // The length is the first field; a huge one must not be believed.
  for (size_t huge : {size_t{4}, payload_size_max, payload_size_max + 1, ~size_t{0}}) {
    auto forged = bytes;
    std::vector<char> length;
    caf::binary_serializer sink{*system, length};
    uint64_t value = huge;
    EXPECT_FALSE(sink(value));
    std::ranges::copy(length, forged.begin());
    EXPECT_FALSE(is_read<payload>(forged)) << huge;
  }
}

TEST_F(protocol, every_cut_of_a_message_is_an_error) {
  contribution message;
  message.gradient_sum = payload_of({1, 2, 3});
  expect_every_cut_is_refused(message);
  expect_every_cut_is_refused(some_part());
  for (const auto& piece : pieces_of_all_kinds())
    expect_every_cut_is_refused(sent_piece{{process_b, piece}});
}

TEST_F(protocol, messages_of_collectives_survive) {
  expect_survives(collective_group{{{}, {}}});
  expect_survives(some_part());
  auto piece = some_part();
  piece.first = 4;
  piece.rest = 3;
  expect_survives(piece);
  expect_survives(collective_grant{7, 2, collective_stage::scatter, 9});
  expect_survives(collective_introduction{"a", {}, {{}, {}}, true, true, {"h", "x", true, 7}});
  expect_survives(collective_failure{7, 2, "why"});
}

using payload_bytes = protocol;

TEST_F(payload_bytes, is_a_span_of_its_buffer) {
  buffer storage{4};
  std::ranges::copy(std::vector<float>{1, 2, 3, 4}, storage.values().begin());
  const payload part{storage, 1, 2};
  EXPECT_EQ(part.values()[0], 2);
  EXPECT_EQ(part.values().size(), 2u);
  payload loaded;
  ASSERT_FALSE(load(saved(part), loaded));
  EXPECT_EQ(loaded, part);
  EXPECT_THROW((payload{storage, 3, 2}), std::invalid_argument);
  EXPECT_THROW((payload{storage, 5, 0}), std::invalid_argument);
}

TEST_F(payload_bytes, memory_of_pieces_that_came_is_used_again) {
  const auto bytes = saved(payload{buffer{piece_elements_max}, 0, piece_elements_max});
  const float* place = nullptr;
  {
    payload first;
    EXPECT_FALSE(load(bytes, first));
    place = first.values().data();
    payload second;
    EXPECT_FALSE(load(bytes, second));
    EXPECT_NE(second.values().data(), place) << "while the first is in use";
  }
  payload third;
  payload fourth;
  EXPECT_FALSE(load(bytes, third) || load(bytes, fourth));
  EXPECT_TRUE(third.values().data() == place || fourth.values().data() == place);
  EXPECT_EQ(third.values().size(), piece_elements_max);
}

TEST_F(payload_bytes, values_of_a_narrow_format_take_half_the_bytes) {
  const auto wide = payload_of({1, -0.0f, 2.5f, INFINITY, 0x1p-133f, NAN});
  const payload narrow{float_view{wide}.with_format(number_format::bf16)};
  const auto bytes = saved(narrow);
  EXPECT_EQ(saved(wide).size() - bytes.size(), wide.size() * sizeof(uint16_t));
  payload loaded;
  ASSERT_FALSE(load(bytes, loaded));
  EXPECT_TRUE(loaded.intact());
  EXPECT_EQ(loaded, wide);
  EXPECT_EQ(loaded.format(), number_format::bf16) << "it may be passed on";
  auto other = bytes;
  other[2 * sizeof(uint64_t)] = static_cast<char>(number_format_count);
  EXPECT_TRUE(load(other, loaded)) << "there is no such format";
  other = bytes;
  other[2 * sizeof(uint64_t)] = static_cast<char>(number_format::float32);
  EXPECT_TRUE(load(other, loaded)) << "so many bytes are not there";
  // Who says that values are narrow which are not is not believed.
  payload wrong;
  ASSERT_FALSE(load(
    saved(payload{float_view{payload_of({1.0001f})}.with_format(number_format::bf16)}), wrong));
  EXPECT_FALSE(wrong.intact());
}

TEST_F(payload_bytes, a_flipped_bit_is_noticed) {
  auto bytes = saved(payload_of({1, 2, 3}));
  bytes.back() ^= 1;
  payload loaded;
  EXPECT_FALSE(load(bytes, loaded));
  EXPECT_FALSE(loaded.intact());
  payload sound;
  EXPECT_FALSE(load(saved(payload_of({1, 2, 3})), sound));
  EXPECT_TRUE(sound.intact());
}

} // namespace
} // namespace troupe::protocol_test
