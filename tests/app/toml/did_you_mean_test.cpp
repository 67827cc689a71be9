#include "troupe/app/toml/did_you_mean.hpp"

#include <gtest/gtest.h>

namespace troupe::did_you_mean_test {
namespace {

TEST(did_you_mean, nearest_word_is_suggested) {
  EXPECT_EQ(did_you_mean("epoch", {"steps", "epochs"}), "did you mean 'epochs'?");
}

TEST(did_you_mean, nothing_is_suggested_when_no_word_is_near) {
  EXPECT_EQ(did_you_mean("epoch", {"patience", "slices"}), "");
  EXPECT_EQ(did_you_mean("", {"steps"}), "");
}

} // namespace
} // namespace troupe::did_you_mean_test
