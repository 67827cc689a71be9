#include "data/records/history_figures.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace troupe::history_figures_test {

namespace {

history_row some_row() {
  history_row x;
  x.seconds = 0.5;
  x.train_loss = 0.25;
  x.validation_r2 = -1;
  x.metrics = {{"test_auc", 0.75}, {"validation_auc", std::nullopt}};
  return x;
}

} // namespace

TEST(history_figures, go_by_name_and_come_back) {
  history_row read;
  set_figures(read, figures_by_name(some_row(), 0));
  EXPECT_EQ(read, some_row());
  EXPECT_EQ(figures_by_name(some_row()), some_row().metrics) << "all others have a place";
}

TEST(history_figures, an_absent_one_that_has_to_be_there_keeps_its_value) {
  history_row read;
  set_figures(read, {{"seconds", std::nullopt}});
  EXPECT_EQ(read, history_row{});
}

TEST(history_figures, a_name_is_a_figures_or_a_metrics) {
  EXPECT_EQ(figure_named("validation_r2").in(some_row()), -1);
  EXPECT_EQ(figure_named("validation_r2").tag, "r2/validation");
  EXPECT_EQ(figure_named("test_auc").in(some_row()), 0.75);
  EXPECT_TRUE(figure_named("test_auc").is_metric());
}

TEST(history_figures, people_read_validation_rows_first_and_metrics_last) {
  std::vector<std::string> names;
  for (const auto& one : evaluated_figures(some_row()))
    names.push_back(one.short_name());
  EXPECT_EQ(names, (std::vector<std::string>{"val_loss", "val_accuracy", "val_r2", "test_loss",
                                             "test_accuracy", "test_r2", "test_auc", "val_auc"}));
}

} // namespace troupe::history_figures_test
