// Parts of a model in logical order are those of the whole, however small they are and however the
// model is cut.

#include "data/model_file/logical_parts.hpp"

#include "data/model_file/safetensors.hpp"
#include "data/text/digest.hpp"
#include "models/network/neural_network.hpp"
#include "tests/support/some_checkpoint.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace troupe::logical_parts_test {
namespace {

parameter_layout layout_with(size_t parts) {
  neural_network_options x;
  x.features = 7;
  x.hidden = {9, 5, 11};
  x.outputs = 3;
  x.parts = parts;
  if (parts > 1)
    x.cuts = {layer_cut::outputs, layer_cut::inputs, layer_cut::outputs, layer_cut::inputs};
  return neural_network{x}.layout();
}

TEST(logical_parts, are_the_whole_in_logical_order) {
  for (const size_t parts : {1, 2, 4}) {
    const auto layout = layout_with(parts);
    const auto working = some_tensor(layout.size(), parts);
    std::vector<float> expected(layout.size());
    layout.to_logical(working.values(), expected);
    for (const size_t most : {1, 2, 5, 7, 20, 63, 1000}) {
      std::vector<float> found;
      for_each_logical_part(
        layout, working,
        [&](std::span<const float> part) {
          EXPECT_LE(part.size(), most);
          found.insert(found.end(), part.begin(), part.end());
        },
        most);
      EXPECT_EQ(found, expected) << parts << ' ' << most;
    }
  }
  EXPECT_THROW(for_each_logical_part(layout_with(1), some_tensor(3, 0), {}), std::invalid_argument);
}

TEST(logical_parts, make_the_file_and_the_digest) {
  const temporary_folder folder;
  const auto layout = layout_with(2);
  const auto working = some_tensor(layout.size(), 1);
  std::vector<float> logical(layout.size());
  layout.to_logical(working.values(), logical);
  const auto digest =
    write_safetensors(folder.path("m"), layout, stored_tensor{working}, {{"kind", "x"}});
  EXPECT_EQ(read_safetensors(folder.path("m")).values, logical);
  EXPECT_EQ(digest, sha256_hex(std::as_bytes(std::span(logical))));
  EXPECT_EQ(safetensors_data_sha256(layout, working), digest);
}

} // namespace
} // namespace troupe::logical_parts_test
