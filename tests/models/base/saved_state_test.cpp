#include "models/base/saved_state.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <limits>
#include <stdexcept>

namespace troupe::saved_state_test {

TEST(saved_state, doubles_come_back_with_their_bits_whatever_their_words_look_like) {
  const std::array values{0.1,
                          -0.0,
                          std::numeric_limits<double>::infinity(),
                          std::numeric_limits<double>::denorm_min(),
                          std::bit_cast<double>(uint64_t{0x7ff0'0001'7f80'0001}),  // words that are
                          std::bit_cast<double>(uint64_t{0x3ff0'0000'ffbf'ffff})}; // signalling NaN
  state_saver saver{values.size()};
  saver.copy(values);
  const auto saved = saver.take();
  EXPECT_EQ(saved.shape(), (state_shape{vectors_of_doubles, 0}));
  const auto back = state_loader{saved}.doubles();
  ASSERT_EQ(back.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(std::bit_cast<uint64_t>(back[i]), std::bit_cast<uint64_t>(values[i])) << i;
}

TEST(saved_state, is_read_in_the_order_it_was_written) {
  state_saver saver{2};
  const buffer shared{2};
  saver.share(shared);
  saver.count(7);
  saver.copy(std::array{1.0f, 2.0f});
  saver.number(0.5);
  saver.copy(std::span<const float>{}); // nothing there yet
  const auto saved = saver.take();
  state_loader loader{saved};
  EXPECT_TRUE(loader.vector().same_storage(shared));
  EXPECT_EQ(loader.count(), 7u);
  EXPECT_EQ(loader.vector().values()[1], 2.0f);
  EXPECT_EQ(loader.number(), 0.5);
  EXPECT_EQ(loader.vector().values()[0], 0.0f);
  EXPECT_THROW(loader.vector(), std::invalid_argument);
  EXPECT_THROW(loader.number(), std::invalid_argument);
}

TEST(saved_state, refuses_what_cannot_be) {
  state_saver saver{2};
  EXPECT_THROW(saver.copy(std::array{1.0f}), std::invalid_argument);
  EXPECT_THROW(saver.copy(std::array{1.0, 2.0, 3.0}), std::invalid_argument);
  for (const double odd : {-1.0, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
    saved_state saved;
    saved.numbers = {odd};
    EXPECT_THROW(state_loader{saved}.count(), std::out_of_range);
  }
}

} // namespace troupe::saved_state_test
