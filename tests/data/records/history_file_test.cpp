#include "data/records/history_file.hpp"

#include "data/records/history_figures.hpp"
#include "data/text/failure.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

namespace troupe::history_file_test {
namespace {

constexpr const char* header = "epoch,steps,seconds,learning_rate,train_loss,train_accuracy,"
                               "test_loss,test_accuracy,test_r2,"
                               "validation_loss,validation_accuracy,validation_r2\n";

TEST(history_file, each_figure_stands_in_its_column_and_absent_ones_are_empty_cells) {
  const history_row all{{0.25, 0.75, 0.3, 0.7, -2.0, 0.4, 0.6, -3.0}, 1, 40, 0.5, 0.01};
  const history_row none{{0.25, {}, {}, {}, {}, {}, {}, {}}, 1, 40, 0.5, 0.01};
  const history_row some{{0.125, {}, 0.3, {}, 0.5, {}, 0.75, {}}, 2, 80, 1, 0.01};
  EXPECT_EQ(history_text({}), header);
  EXPECT_EQ(history_text({all, none, some}),
            header +
              std::string{"1,40,0.5,0.01,0.25,0.75,0.3,0.7,-2,0.4,0.6,-3\n"
                          "1,40,0.5,0.01,0.25,,,,,,,\n2,80,1,0.01,0.125,,0.3,,0.5,,0.75,\n"});
}

history_row row_at(uint64_t steps, double loss = 0) {
  history_row result;
  result.steps = steps;
  result.train_loss = loss;
  return result;
}

TEST(history_writer, rows_are_in_the_file_at_once_and_make_the_file_of_the_end) {
  temporary_folder folder;
  std::vector<history_row> rows{row_at(4), row_at(8)};
  history_writer out{folder.path("h.csv"), rows};
  EXPECT_EQ(folder.read("h.csv"), history_text(rows)) << "a run that goes on has its rows";
  for (const uint64_t steps : {12u, 16u}) {
    rows.push_back(row_at(steps));
    out.add(rows.back());
    EXPECT_EQ(folder.read("h.csv"), history_text(rows));
  }
}

TEST(history_writer, steps_that_are_done_once_more_replace_their_rows) {
  temporary_folder folder;
  history_writer out{folder.path("h.csv"), {row_at(4), row_at(8), row_at(12)}};
  out.add(row_at(12, 0.5));
  EXPECT_EQ(folder.read("h.csv"), history_text({row_at(4), row_at(8), row_at(12, 0.5)}));
  out.add(row_at(6, 0.5));
  EXPECT_EQ(folder.read("h.csv"), history_text({row_at(4), row_at(6, 0.5)}));
}

// As of a run that goes on with one more metric.
TEST(history_writer, a_row_with_another_metric_brings_its_column) {
  temporary_folder folder;
  history_writer out{folder.path("h.csv"), {row_at(4)}};
  auto with = row_at(8);
  with.metrics = {{"test_auc", 0.75}, {"test_brier", std::nullopt}};
  out.add(with);
  auto heads = std::string{header};
  heads.insert(heads.size() - 1, ",test_auc,test_brier");
  const auto text = heads + "0,4,0,0,0,,,,,,,,,\n0,8,0,0,0,,,,,,,,0.75,\n";
  EXPECT_EQ(folder.read("h.csv"), text);
  EXPECT_EQ(read_history(text, "h").back(), with);
  out.add(row_at(12));
  EXPECT_EQ(folder.read("h.csv"), text + "0,12,0,0,0,,,,,,,,,\n");
}

TEST(history_writer, a_row_that_cannot_be_written_is_a_failure) {
  temporary_folder folder;
  history_writer out{folder.path("h.csv"), {}};
  std::filesystem::remove_all(folder.path(""));
  EXPECT_THROW(out.add(row_at(4)), failure);
}

TEST(history_file, what_was_written_is_read_back) {
  const history_row all{{0.1 + 0.2, 0.75, 0.3, 0.7, -2.0, 0.4, 0.6, -3.0}, 1, 40, 0.5, 0.01};
  const history_row some{
    {std::numeric_limits<double>::infinity(), {}, 0.3, {}, {}, {}, {}, {}}, 2, 80, 1, 0.01};
  const auto text = history_text({all, some});
  EXPECT_EQ(read_history(text, "h"), (std::vector{all, some}));
  EXPECT_EQ(read_history(text.substr(0, text.size() - 1), "h"), std::vector{all})
    << "half a line is left out";
}

TEST(history_file, what_is_no_history_is_refused_with_its_line) {
  const auto refusal = [](const std::string& text) {
    const auto error = test::failure_of([&] { read_history(text, "h"); });
    return error.where() + ": " + error.reason();
  };
  const std::string head = header, good = "1,40,0.5,0.01,0.25,,,,,,,\n";
  const auto longer = std::string{head}.insert(head.size() - 1, "x,y");
  for (const auto& text : {std::string{"epoch,steps\n1,2\n"}, head.substr(0, 20), longer})
    EXPECT_EQ(refusal(text), "h:1: this is no history of a run");
  EXPECT_EQ(refusal(head + good + "1,x,0.5,0.01,0.25,,,,,,,\n"), "h:3: 'x' is no number");
  EXPECT_EQ(refusal(head + "1,40,,0.01,0.25,,,,,,,\n"), "h:2: '' is no number");
  EXPECT_EQ(refusal(head + "1,40,0.5,0.01,0.25,,,,,,,,\n"),
            "h:2: the line has more cells than the header");
  EXPECT_EQ(refusal(head + "1,40,0.5,0.01,0.25,,,,,,\n"),
            "h:2: the line has fewer cells than the header");
}

TEST(history_file, hashes_stand_between_figures_and_metrics) {
  auto first = row_at(4, 0.5), second = row_at(8, 0.25);
  first.hash = version_hash{{1, 0xab}, {~uint64_t{0}, 2}};
  second.hash = version_hash{{3, 4}, {}};
  second.metrics["test_auc"] = 0.75;
  const std::vector<history_row> rows{first, second};
  std::string titles = header;
  titles.insert(titles.size() - 1, ",parameters_hash,state_hash,test_auc");
  const auto text = history_text(rows);
  EXPECT_EQ(text, titles + "0,4,0,0,0.5,,,,,,,,000000000000000100000000000000ab,"
                           "ffffffffffffffff0000000000000002,\n"
                           "0,8,0,0,0.25,,,,,,,,00000000000000030000000000000004,,0.75\n");
  const auto read = read_history(text, "h");
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].hash, first.hash);
  EXPECT_EQ(read[1], second);
  temporary_folder folder;
  history_writer out{folder.path("h.csv"), {}};
  out.add(first); // the file had no such columns yet
  out.add(second);
  EXPECT_EQ(folder.read("h.csv"), text);
}

TEST(history_file, what_is_no_hash_is_refused_with_its_line) {
  std::string titles = header;
  titles.insert(titles.size() - 1, ",parameters_hash,state_hash");
  for (const std::string bad :
       {"1", "00000000000000010000000000000xab", "0x000000000000010000000000000xab",
        "000000000000000100000000000000ab0"}) {
    const auto error = test::failure_of(
      [&] { read_history(titles + "1,40,0.5,0.01,0.25,,,,,,,," + bad + ",\n", "h"); });
    EXPECT_EQ(error.where(), "h:2");
    EXPECT_EQ(error.reason(), "'" + bad + "' is no hash");
  }
}

TEST(history_file, numbers_read_back_as_the_same_double) {
  history_row row;
  row.train_loss = 0.1 + 0.2;
  row.seconds = std::numeric_limits<double>::infinity();
  EXPECT_EQ(history_text({row}), std::string{header} + "0,0,inf,0,0.30000000000000004,,,,,,,\n");
}

history_row some_row() {
  history_row x;
  x.seconds = 0.5;
  x.train_loss = 0.25;
  x.validation_r2 = -1;
  x.metrics = {{"test_auc", 0.75}, {"validation_auc", std::nullopt}};
  return x;
}

TEST(history_figures, go_by_name_and_come_back) {
  history_row read;
  set_figures(read, figures_by_name(some_row()));
  EXPECT_EQ(read, some_row());
  EXPECT_EQ(figures_by_name(some_row()).at("train_loss"), 0.25);
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

round_record some_round(uint64_t number) {
  round_record result{.round = number, .invited = 10, .dropped = 3, .counted = 7, .rows = 70};
  result.loss = 0.5 + static_cast<double>(number);
  result.losses = {0.1, 0.25, 0.5, 2};
  result.norms = {1, 2, 3, 4};
  return result;
}

TEST(rounds_file, is_a_table_of_what_was_told) {
  round_record nobody{.round = 2, .invited = 4, .dropped = 4, .is_void = true};
  const auto text = rounds_text({some_round(1), nobody});
  EXPECT_EQ(text.substr(text.find('\n') + 1),
            "1,10,3,0,0,0,7,70,1.5,0.1,0.25,0.5,2,1,2,3,4,0,\n2,4,4,0,0,0,0,0,,,,,,,,,,1,\n");
  EXPECT_EQ(text.substr(0, 21), "round,invited,dropped");
}

TEST(rounds_file, tells_of_a_private_round_its_epsilon_alone) {
  auto round = some_round(7);
  round.epsilon = 1.5;
  const auto text = rounds_text({round});
  const auto names = text.substr(0, text.find('\n'));
  const auto line = text.substr(text.find('\n') + 1);
  EXPECT_EQ(line, "7,,,,,,,,,,,,,,,,,0,1.5\n");
  EXPECT_EQ(std::ranges::count(names, ','), std::ranges::count(line, ','));
}

TEST(rounds_file, is_read_as_it_was_written) {
  std::vector<round_record> rounds{some_round(1),
                                   {.round = 2, .invited = 4, .dropped = 4, .is_void = true}};
  EXPECT_EQ(read_rounds(rounds_text(rounds), "x"), rounds);
  EXPECT_EQ(read_rounds(rounds_text(rounds) + "3,10,3", "x"), rounds) << "half of a line";
  const std::vector<round_record> hidden{{.round = 7, .epsilon = 1.5}};
  EXPECT_EQ(read_rounds(rounds_text(hidden), "x"), hidden);
  EXPECT_EQ(read_rounds(rounds_text({}), "x"), std::vector<round_record>{});
}

TEST(rounds_file, what_is_none_is_refused_with_its_line) {
  const auto names = rounds_text({});
  for (const auto& [text, where] : {std::pair{std::string{"epoch,steps\n"}, "x:1"},
                                    {names + "1,2,3\n", "x:2"},
                                    {names + "1,a,3,0,0,0,7,70,1,1,1,1,2,1,2,3,4,0,\n", "x:2"},
                                    {rounds_text({some_round(1)}) + "\n", "x:3"}}) {
    const auto error = test::failure_of([&text = text] { read_rounds(text, "x"); });
    EXPECT_EQ(error.where(), where) << text;
    EXPECT_EQ(error.code(), failure_code::bad_data);
  }
}

TEST(rounds_file, grows_and_takes_back_what_is_done_once_more) {
  const temporary_folder folder;
  rounds_writer out{folder.path("rounds.csv"), 0};
  const auto expect_rounds = [&](const std::vector<round_record>& rounds) {
    EXPECT_EQ(folder.read("rounds.csv"), rounds_text(rounds));
  };
  expect_rounds({});
  out.add({some_round(1), some_round(2)});
  out.add({some_round(3)});
  expect_rounds({some_round(1), some_round(2), some_round(3)});
  out.add({some_round(2)});
  expect_rounds({some_round(1), some_round(2)});
}

TEST(rounds_file, goes_on_from_the_version_of_a_checkpoint) {
  const temporary_folder folder;
  const auto path = folder.path("rounds.csv");
  rounds_writer{path, 0}.add({some_round(1), some_round(2), some_round(3)});
  std::ofstream{path, std::ios::app} << "4,10,3"; // the disk was full, or the machine stopped
  rounds_writer again{path, 2};
  EXPECT_EQ(folder.read("rounds.csv"), rounds_text({some_round(1), some_round(2)}));
  again.add({some_round(3)});
  EXPECT_EQ(folder.read("rounds.csv"), rounds_text({some_round(1), some_round(2), some_round(3)}));
  rounds_writer anew{path, 0};
  EXPECT_EQ(folder.read("rounds.csv"), rounds_text({}));
}

} // namespace
} // namespace troupe::history_file_test
