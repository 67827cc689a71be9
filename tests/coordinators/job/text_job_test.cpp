// What a job may say of a text: everything that has no use for one is refused by its key.

#include "coordinators/job/job_check.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace troupe::text_job_test {

namespace {

job text_job() {
  job x;
  x.data.file = "some.txt";
  x.data.format = data_format::text;
  return x;
}

/// Keys with problems, each once.
std::string keys(const job& x) {
  std::string result;
  for (const auto& problem : problems(x))
    if (result.find(problem.key) == std::string::npos)
      result += (result.empty() ? "" : " ") + problem.key;
  return result;
}

struct change {
  std::string key;
  std::function<void(job&)> apply;
};

} // namespace

TEST(text_job, has_windows_fractions_folds_and_files_of_its_parts) {
  auto x = text_job();
  EXPECT_EQ(keys(x), "");
  x.data.text = {1, 1'000};
  x.data.test_fraction = x.data.validation_fraction = 0.1;
  EXPECT_EQ(keys(x), "");
  x.data.validation_fraction = 0;
  x.data.folds = 5;
  x.data.fold = 4;
  EXPECT_EQ(keys(x), "");
  x = text_job();
  x.data.test_file = "other.txt";
  EXPECT_EQ(keys(x), "");
}

TEST(text_job, refuses_by_its_key_what_has_no_use_for_a_text) {
  const change changes[] = {
    {"data.window", [](job& x) { x.data.text.window = 0; }},
    {"data.window", [](job& x) { x.data.text.window = 1'000'001; }},
    {"data.stride", [](job& x) { x.data.text.stride = 0; }},
    {"data.target", [](job& x) { x.data.target = "label"; }},
    {"data.ignore", [](job& x) { x.data.ignore = {"c0"}; }},
    {"data.header", [](job& x) { x.data.header = header_kind::yes; }},
    {"data.standardize", [](job& x) { x.data.standardize = true; }},
    {"data.stratify",
     [](job& x) {
       x.data.stratify = true;
       x.data.test_fraction = 0.2;
     }},
    {"data.shuffle", [](job& x) { x.data.shuffle = shuffle_kind::lanes; }},
    {"data.weight", [](job& x) { x.data.weight = "c0"; }},
    {"data.split_by",
     [](job& x) {
       x.data.split_by = "c0";
       x.data.test_fraction = 0.2;
     }},
    {"data.categorical", [](job& x) { x.data.categorical = {"c0"}; }},
    {"data.boolean", [](job& x) { x.data.boolean = {"c0"}; }},
    {"data.date", [](job& x) { x.data.date = {"c0"}; }},
    {"data.missing", [](job& x) { x.data.missing = missing_kind::drop; }},
    {"data.separator", [](job& x) { x.data.cells.separator = ";"; }},
    {"data.labels_file", [](job& x) { x.data.labels_file = "labels"; }},
    {"data.index_base", [](job& x) { x.data.index_base = 0; }},
    {"data.dense", [](job& x) { x.data.dense = dense_kind::no; }},
    {"data.hash_bits", [](job& x) { x.data.hash_bits = 10; }},
  };
  for (const auto& [key, apply] : changes) {
    auto x = text_job();
    apply(x);
    EXPECT_EQ(keys(x), key);
  }
}

TEST(text_job, windows_are_for_texts_alone) {
  auto x = text_job();
  x.data.text.window = 64;
  EXPECT_EQ(keys(x), "");
  x.data.format = data_format::by_name;
  EXPECT_EQ(keys(x), "data.window");
  x.data.text = {32, 2};
  EXPECT_EQ(keys(x), "data.stride");
  x.data.format = data_format::csv;
  EXPECT_EQ(keys(x), "data.stride");
  x.data.text = {};
  EXPECT_EQ(keys(x), "");
}

} // namespace troupe::text_job_test
