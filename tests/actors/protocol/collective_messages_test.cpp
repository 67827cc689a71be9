// The messages of collectives on a wire: what is written is read, and nothing else is.

#include "actors/protocol/collective_messages.hpp"
#include "actors/run/configure.hpp"
#include "tests/support/payloads.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/binary_deserializer.hpp>
#include <caf/binary_serializer.hpp>

#include <gtest/gtest.h>

namespace troupe::collective_messages_test {
namespace {

class collective_messages : public testing::Test {
protected:
  collective_messages() {
    configure(config_);
    system_.emplace(config_);
  }

  template <class T>
  std::vector<char> saved(T message) {
    std::vector<char> bytes;
    caf::binary_serializer sink{*system_, bytes};
    EXPECT_FALSE(sink(message));
    return bytes;
  }

  /// Nothing when it cannot be read.
  template <class T>
  std::optional<T> loaded(const std::vector<char>& bytes) {
    std::optional<T> result{T{}};
    caf::binary_deserializer source{*system_, bytes};
    if (source(*result))
      result.reset();
    return result;
  }

  template <class T>
  void expect_survives(const T& message) {
    EXPECT_EQ(loaded<T>(saved(message)), message);
  }

  caf::actor_system_config config_;
  std::optional<caf::actor_system> system_;
};

const collective_failure some_failure{7, 2, "why"};
const collective_grant some_grant{7, 2, collective_stage::scatter, 9};

collective_part some_part() {
  return {
    7, 2, collective_kind::scatter, 1, collective_stage::scatter, 9, test::payload_of({-0.0f, 2})};
}

bool intact(const collective_part& x) {
  return x.values.intact();
}

bool intact(const collective_failure&) {
  return true;
}

bool intact(const collective_grant&) {
  return true;
}

} // namespace

TEST_F(collective_messages, survive) {
  expect_survives(collective_group{});
  expect_survives(collective_group{{{}, {}}});
  expect_survives(collective_part{});
  expect_survives(some_part());
  auto piece = some_part();
  piece.first = 4;
  piece.rest = 3;
  expect_survives(piece);
  expect_survives(collective_grant{});
  expect_survives(some_grant);
  expect_survives(collective_introduction{});
  expect_survives(collective_introduction{"a", {}, {{}, {}}, true, true, {"h", "x", true, 7}});
  expect_survives(collective_failure{});
  expect_survives(some_failure);
}

TEST_F(collective_messages, with_a_flipped_bit_are_noticed) {
  const auto expect_noticed = [&]<class T>(const T& message) {
    const auto bytes = saved(message);
    for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      auto damaged = bytes;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
      const auto read = loaded<T>(damaged);
      EXPECT_TRUE(!read || !intact(*read)) << "bit " << bit;
    }
  };
  expect_noticed(some_part());
  expect_noticed(some_grant);
  expect_noticed(some_failure);
}

TEST_F(collective_messages, cut_short_are_not_read) {
  const auto bytes = saved(some_part());
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(
      loaded<collective_part>({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)}));
}

TEST_F(collective_messages, of_a_kind_that_does_not_exist_are_not_read) {
  auto kind = some_part();
  kind.kind = static_cast<collective_kind>(6);
  EXPECT_FALSE(loaded<collective_part>(saved(kind)));
  auto stage = some_part();
  stage.stage = static_cast<collective_stage>(2);
  EXPECT_FALSE(loaded<collective_part>(saved(stage)));
}

} // namespace troupe::collective_messages_test
