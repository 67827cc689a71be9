#include "actors/net/clients/frame_line.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

using namespace troupe;

namespace {

const_buffer values_of(size_t count) {
  const buffer result{count};
  std::iota(result.values().begin(), result.values().end(), 0.5f);
  return result;
}

client_frame frame_like(const client_frame_form& form, size_t value_count) {
  client_frame result;
  result.kind = form.kind;
  for (uint64_t i = 0; i < form.numbers; ++i)
    result.numbers.push_back(i + (uint64_t{7} << 40));
  for (size_t i = 0; i < form.text_max.size(); ++i)
    result.texts[i] = std::string(std::min<size_t>(form.text_max[i], 33 + i), 'x');
  if (form.has_values)
    result.values = values_of(value_count);
  return result;
}

std::string bytes_of(const client_frame& x) {
  auto result = client_frame_front(x);
  const auto values = std::as_bytes(x.values.values());
  result.append(reinterpret_cast<const char*>(values.data()), values.size());
  return result;
}

std::optional<client_frame> read_back(const std::string& bytes, size_t value_count,
                                      std::string& problem) {
  const std::string_view all{bytes};
  const auto head = read_client_head(all.substr(0, client_head_bytes), value_count, problem);
  return head ? read_client_frame(*head, all.substr(0, client_head_bytes),
                                  all.substr(client_head_bytes), value_count, problem)
              : std::nullopt;
}

TEST(client_frames, are_read_as_they_were_written) {
  for (const auto& form : client_frame_forms) {
    const auto x = frame_like(form, 5);
    std::string problem;
    const auto found = read_back(bytes_of(x), 5, problem);
    ASSERT_TRUE(found) << problem;
    EXPECT_EQ(found->kind, x.kind);
    EXPECT_EQ(found->numbers, x.numbers);
    EXPECT_EQ(found->texts, x.texts);
    EXPECT_TRUE(std::ranges::equal(found->values.values(), x.values.values()));
  }
}

// Known bytes: a client of another version has to read them.
TEST(client_frames, lie_on_the_wire_as_they_always_did) {
  const auto bytes = bytes_of({client_frame_kind::send, {3, 0x0102030405060708}});
  ASSERT_EQ(bytes.size(), 48);
  EXPECT_EQ(bytes.substr(0, 16), std::string("TRPC\x07\0\0\0\x10\0\0\0\0\0\0\0", 16));
  EXPECT_EQ(bytes.substr(24, 8), std::string(8, '\0'));
  EXPECT_EQ(bytes.substr(32, 8), std::string("\x03\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(bytes.substr(40, 8), "\x08\x07\x06\x05\x04\x03\x02\x01");
}

TEST(client_frames, every_changed_bit_is_seen) {
  for (const auto& form : client_frame_forms) {
    const auto bytes = bytes_of(frame_like(form, 3));
    for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      auto damaged = bytes;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
      std::string problem;
      EXPECT_FALSE(read_back(damaged, 3, problem)) << bit;
      EXPECT_FALSE(problem.empty());
    }
  }
}

TEST(client_frames, other_lengths_are_refused_by_the_head_alone) {
  std::string problem;
  const auto head_of = [&](const client_frame& x, size_t value_count) {
    return read_client_head(std::string_view{bytes_of(x)}.substr(0, client_head_bytes), value_count,
                            problem);
  };
  const client_frame order{client_frame_kind::order, {0, 1, 0, 9}, {}, values_of(4)};
  EXPECT_TRUE(head_of(order, 4));
  EXPECT_FALSE(head_of(order, 3));
  EXPECT_FALSE(head_of(order, 5));
  EXPECT_THROW(client_frame_front({client_frame_kind::order, {0}}), std::invalid_argument);
  EXPECT_THROW(client_frame_front({client_frame_kind::wait, {0}, {std::string(1025, 'x')}}),
               std::invalid_argument);
}

struct two_lines {
  two_lines() : client{make(0), false}, server{make(1), true} {}
  channel make(size_t i) {
    if (i == 0 && ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) != 0)
      ADD_FAILURE() << "no sockets";
    return channel{owned_socket{ends[i]}};
  }
  std::array<int, 2> ends{};
  frame_line client, server;
};

TEST(frame_line, values_come_when_there_is_a_place_for_them) {
  const client_frame update{client_frame_kind::update, {0, 1, 2, 3, 4}, {}, values_of(6)};
  for (const bool allowed : {true, false}) {
    two_lines x;
    x.server.set_value_count(6);
    x.server.allow_values(allowed);
    x.client.send(update);
    const auto found = x.server.read();
    EXPECT_EQ(found.has_value(), allowed);
    EXPECT_EQ(x.server.is_over(), !allowed);
    EXPECT_EQ(x.server.problem(), allowed ? "" : "a frame that may not come now");
  }
}

TEST(frame_line, nobody_sends_the_other_sides_frames) {
  two_lines x;
  x.client.send({client_frame_kind::over, {0}, {"no"}});
  EXPECT_FALSE(x.server.read());
  EXPECT_TRUE(x.server.is_over());
  two_lines y;
  y.server.send({client_frame_kind::here});
  EXPECT_FALSE(y.client.read());
  EXPECT_TRUE(y.client.is_over());
}

TEST(frame_line, large_frames_wait_for_the_socket) {
  two_lines x;
  constexpr size_t count = 1'000'000;
  x.client.set_value_count(count);
  const client_frame order{client_frame_kind::order, {7, 1, 0, 5}, {}, values_of(count)};
  x.server.send(order);
  x.server.send({client_frame_kind::ping});
  EXPECT_TRUE(x.server.wants_to_write());
  std::vector<client_frame> found;
  for (int i = 0; i < 10'000 && found.size() < 2; ++i) {
    while (auto next = x.client.read())
      found.push_back(std::move(*next));
    x.server.flush();
  }
  ASSERT_EQ(found.size(), 2);
  EXPECT_TRUE(std::ranges::equal(found[0].values.values(), order.values.values()));
  EXPECT_EQ(x.server.bytes_written(), x.client.bytes_read());
}

TEST(frame_line, who_does_not_read_is_heard_no_more_and_told_the_newest_order) {
  two_lines x;
  constexpr size_t count = 1'000'000;
  for (uint64_t round = 0; round < 4; ++round)
    x.server.send({client_frame_kind::order, {round, 1, 0, 5}, {}, values_of(count)});
  EXPECT_FALSE(x.server.is_full());
  for (int i = 0; i < 2'000; ++i)
    x.server.send({client_frame_kind::receipt, {0, 1, 2}});
  EXPECT_TRUE(x.server.is_full());
  x.client.set_value_count(count);
  std::vector<uint64_t> rounds;
  for (int i = 0; i < 20'000 && x.server.wants_to_write(); ++i) {
    while (auto next = x.client.read())
      if (next->kind == client_frame_kind::order)
        rounds.push_back(next->numbers[0]);
    x.server.flush();
  }
  EXPECT_EQ(rounds, (std::vector<uint64_t>{0, 3})); // the first had begun
  EXPECT_FALSE(x.server.is_full());
}

TEST(frame_line, says_that_the_other_side_secures_its_connection) {
  two_lines x;
  ASSERT_EQ(::send(x.ends[0], "\x15\x03\x01", 3, 0), 3);
  EXPECT_FALSE(x.server.read());
  EXPECT_TRUE(x.server.was_refused());
}

TEST(frame_line, says_that_the_other_side_is_gone) {
  two_lines x;
  x.client.send({client_frame_kind::here});
  { [[maybe_unused]] const auto gone = x.client.socket().release(); }
  ASSERT_TRUE(x.server.read());
  EXPECT_FALSE(x.server.read());
  EXPECT_TRUE(x.server.is_over());
  EXPECT_FALSE(x.server.problem().empty());
}

} // namespace
