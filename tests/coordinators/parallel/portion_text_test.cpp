#include "troupe/coordinators/parallel/portion_text.hpp"

#include <gtest/gtest.h>

namespace troupe::portion_text_test {

TEST(portion_text, names_slices_layers_and_parts) {
  model_split split;
  split.part_count = 4;
  split.layers = {{0, 2}, {2, 3}};
  EXPECT_EQ(portion_text({{0, 4}, {0, 1}, {0, 1}}, split), "slices 0-3, layers 0-1, part 0 of 4");
  EXPECT_EQ(portion_text({{4, 5}, {1, 2}, {2, 4}}, split), "slice 4, layer 2, parts 2-3 of 4");
  EXPECT_EQ(portion_text({}, split), "spare");
  split.part_count = 1;
  EXPECT_EQ(portion_text({{0, 2}, {0, 2}, {0, 1}}, split), "slices 0-1, layers 0-2");
}

} // namespace troupe::portion_text_test
