#include "troupe/data/training_rows/prepare_stored.hpp"

#include "troupe/data/rows_file/read_rows.hpp"
#include "troupe/data/source/reading_stop.hpp"
#include "troupe/data/training_rows/stored_source.hpp"
#include "troupe/models/base/rounding.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

// Labels or targets of the rows for testing and validation: figures are compared with them.
void read_kept_targets(const rows_file& file, const chunk_split& split, prepared_data& out) {
  const auto width = static_cast<std::ptrdiff_t>(file.header().target_count());
  for (uint64_t number = 0; number < file.header().chunk_count(); ++number) {
    reading_stop::check();
    const auto rows = file.read_targets(number);
    const auto parts = split.parts_of(number);
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i] == row_part::train)
        continue;
      auto& to = parts[i] == row_part::test ? out.test : out.validation;
      if (file.header().is_classification()) {
        to.labels.push_back(rows.labels[i]);
        continue;
      }
      const auto begin = rows.targets.begin() + static_cast<std::ptrdiff_t>(i) * width;
      to.targets.insert(to.targets.end(), begin, begin + width);
    }
  }
}

} // namespace

prepared_data prepare_stored(rows_file file, const prepare_options& options) {
  const default_rounding rounding;
  const auto header = file.header();
  const chunk_split split{options.seed,
                          header.row_count,
                          header.chunk_rows,
                          {options.test_fraction, options.validation_fraction}};
  prepared_data result;
  result.fingerprint = file.fingerprint();
  result.chunk_rows = header.chunk_rows;
  result.chunk_begins = split.begins_of(row_part::train);
  result.train = result.test = result.validation = names_of(header);
  result.train.row_count = result.chunk_begins.back();
  result.test.row_count = split.sizes().test;
  result.validation.row_count = split.sizes().validation;
  if (options.standardize)
    result.features =
      standardization_of({header.row_count, header.column_means, header.column_squares});
  auto& facts = result.facts;
  facts.target_minimum = header.target_minimum;
  facts.target_maximum = header.target_maximum;
  facts.train_class_rows.assign(header.class_rows.begin(), header.class_rows.end());
  if (!split.keeps_all_for_training()) {
    read_kept_targets(file, split, result);
    for (const auto* kept : {&result.test, &result.validation})
      for (const auto label : kept->labels)
        --facts.train_class_rows[static_cast<size_t>(label)];
  }
  const auto data = std::make_shared<stored_data>(std::move(file), split, result.features);
  result.stored.train = std::make_shared<stored_source>(data, row_part::train);
  result.stored.test = std::make_shared<stored_source>(data, row_part::test);
  result.stored.validation = std::make_shared<stored_source>(data, row_part::validation);
  return result;
}

} // namespace troupe
