#include "data/training_rows/prepare.hpp"

#include "data/model_file/saved_model.hpp"
#include "data/text/checksum.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace troupe {

namespace {

[[noreturn]] void refuse_file(const std::string& path, const std::string& reason) {
  throw failure(failure_code::bad_data, reason, path,
                "rows for testing and validation are to have the columns and classes of data.file");
}

void require_same_columns(row_part part, const dataset& train, const dataset& test,
                          const std::string& path) {
  const std::string use = part == row_part::test ? " to test on" : " to validate on";
  if (test.feature_count != train.feature_count)
    refuse_file(path, std::to_string(test.feature_count) + " features" + use + ", " +
                        std::to_string(train.feature_count) + " to train on");
  for (size_t j = 0; j < train.feature_count; ++j)
    if (test.feature_names[j] != train.feature_names[j])
      refuse_file(path, "feature " + std::to_string(j) + " is called " +
                          shown_text(test.feature_names[j]) + use + ", " +
                          shown_text(train.feature_names[j]) + " to train on");
  if (test.is_classification() != train.is_classification())
    refuse_file(path, "the targets" + use +
                        (test.is_classification() ? " are classes, not numbers"
                                                  : " are numbers, not classes"));
  if (test.target_count != train.target_count)
    refuse_file(path, std::to_string(test.target_count) + " targets" + use + ", " +
                        std::to_string(train.target_count) + " to train on");
}

// Who has rows of this file alone comes behind all others.
void renumber_clients(const dataset& train, dataset& test) {
  const auto known = train.client_names.size();
  std::vector<uint32_t> numbers;
  for (auto& name : test.client_names) {
    const auto end = train.client_names.begin() + static_cast<std::ptrdiff_t>(known);
    const auto found = std::lower_bound(train.client_names.begin(), end, name);
    const bool is_known = found != end && *found == name;
    numbers.push_back(
      static_cast<uint32_t>(is_known ? found - train.client_names.begin()
                                     : static_cast<std::ptrdiff_t>(known + numbers.size())));
  }
  for (auto& client : test.clients)
    client = numbers[client];
  test.client_names.clear();
}

} // namespace

std::optional<std::string> renumber_classes(dataset& rows,
                                            const std::vector<std::string>& classes) {
  const class_finder finder{classes};
  std::vector<int32_t> numbers;
  for (const auto& name : rows.classes) {
    const auto found = finder.find(name);
    if (!found)
      return name;
    numbers.push_back(static_cast<int32_t>(*found));
  }
  for (auto& label : rows.labels)
    label = numbers[static_cast<size_t>(label)];
  rows.classes = classes;
  return std::nullopt;
}

void add_given_rows(row_part part, dataset rows, const std::string& path, prepared_data& data) {
  require_same_columns(part, data.train, rows, path);
  // The same rows for another use are another job.
  const std::string use = part == row_part::validation ? "validation" : "";
  const auto both = data.fingerprint + use + content_fingerprint(rows);
  data.fingerprint = sha256_hex(std::as_bytes(std::span{both}));
  if (const auto unknown = renumber_classes(rows, data.train.classes))
    refuse_file(path, "the class " + shown_text(*unknown) + " is none of those to train on");
  renumber_clients(data.train, rows);
  rows.overlap = {};
  rows.groups = {};
  rows.group_names = {};
  fill_gaps(data.train.columns, rows.features);
  for (auto& remark : rows.remarks)
    data.remarks.push_back(std::move(remark));
  if (!data.features.empty())
    standardize(data.features, rows.features);
  // They are in memory, wherever the others are.
  if (part == row_part::test) {
    data.test = std::move(rows);
    data.stored.test = nullptr;
  } else {
    data.validation = std::move(rows);
    data.stored.validation = nullptr;
  }
}

} // namespace troupe
