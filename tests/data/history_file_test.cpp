#include "troupe/data/history_file.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace troupe {
namespace {

constexpr const char* header = "epoch,steps,seconds,learning_rate,train_loss,train_accuracy,"
                               "test_loss,test_accuracy,test_r2,"
                               "validation_loss,validation_accuracy,validation_r2\n";

TEST(history_file, without_rows_it_is_a_header) {
  EXPECT_EQ(history_text({}), header);
}

TEST(history_file, each_figure_stands_in_its_column) {
  const history_row all{1, 40, 0.5, 0.01, 0.25, 0.75, 0.3, 0.7, -2.0, 0.4, 0.6, -3.0};
  EXPECT_EQ(history_text({all}),
            std::string{header} + "1,40,0.5,0.01,0.25,0.75,0.3,0.7,-2,0.4,0.6,-3\n");
}

TEST(history_file, absent_figures_are_empty_cells) {
  const history_row none{1, 40, 0.5, 0.01, 0.25, {}, {}, {}, {}, {}, {}, {}};
  const history_row some{2, 80, 1, 0.01, 0.125, {}, 0.3, {}, 0.5, {}, 0.75, {}};
  EXPECT_EQ(history_text({none, some}),
            std::string{header} +
              "1,40,0.5,0.01,0.25,,,,,,,\n2,80,1,0.01,0.125,,0.3,,0.5,,0.75,\n");
}

TEST(history_file, numbers_read_back_as_the_same_double) {
  history_row row;
  row.train_loss = 0.1 + 0.2;
  row.seconds = std::numeric_limits<double>::infinity();
  EXPECT_EQ(history_text({row}), std::string{header} + "0,0,inf,0,0.30000000000000004,,,,,,,\n");
}

} // namespace
} // namespace troupe
