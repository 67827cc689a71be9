#include "data/training_rows/row_split.hpp"

#include "data/text/checksum.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

namespace troupe {

namespace {

[[noreturn]] void refuse(const std::string& key, const std::string& reason,
                         const std::string& hint) {
  throw failure(failure_code::bad_job, reason, key, hint);
}

void require_enough(const part_options& options, size_t count, const std::string& what) {
  if (const auto folds = options.folds.value_or(0); count < folds)
    refuse("data.folds", std::to_string(folds) + " folds of " + std::to_string(count) + ' ' + what,
           "use fewer folds");
}

// ---- By rows

/// Rows in order of their keys, class by class, and where classes end.
struct ordered_rows {
  std::vector<row_place> places;
  std::vector<size_t> counts; ///< of each class; of all rows where classes do not count
};

ordered_rows order_of(const dataset& rows, uint64_t seed, bool by_class) {
  std::vector<std::vector<row_place>> classes(by_class ? rows.classes.size() : 1);
  for (size_t row = 0; row < rows.row_count; ++row)
    classes[by_class ? static_cast<size_t>(rows.labels[row]) : 0].push_back(place_of(seed, row));
  ordered_rows result;
  result.places.reserve(rows.row_count);
  for (auto& places : classes) {
    std::ranges::sort(places);
    result.counts.push_back(places.size());
    result.places.insert(result.places.end(), places.begin(), places.end());
  }
  return result;
}

/// How many of each class make `total` in all, as far as each class keeps a row; `taken` of each are gone already.
std::vector<size_t> shares_of(const std::vector<size_t>& counts, const std::vector<size_t>& taken,
                              double fraction, size_t total) {
  std::vector<size_t> result;
  std::vector<int64_t> remainders; ///< in millionths: products are rounded
  for (size_t c = 0; c < counts.size(); ++c) {
    const auto share = share_of(counts[c], fraction);
    const auto kept = std::min(counts[c], taken[c] + 1);
    result.push_back(std::min(share, counts[c] - kept));
    remainders.push_back(
      std::llround(1e6 * (fraction * static_cast<double>(counts[c]) - static_cast<double>(share))));
  }
  std::vector<size_t> order(counts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](size_t c) { return remainders[c]; });
  auto left = total - std::min(total, std::reduce(result.begin(), result.end(), size_t{0}));
  for (const auto c : order)
    if (left > 0 && taken[c] + result[c] + 1 < counts[c]) {
      ++result[c];
      --left;
    }
  return result;
}

void split_by_rows(const dataset& rows, uint64_t seed, const part_options& options,
                   row_split& out) {
  const auto sizes = sizes_of_parts(rows.row_count, options);
  const auto order = order_of(rows, seed, options.stratify);
  const std::vector<size_t> none(order.counts.size());
  const auto test = shares_of(order.counts, none, options.test_fraction, sizes.test);
  const auto validation =
    shares_of(order.counts, test, options.validation_fraction, sizes.validation);
  size_t begin = 0, others = 0; // rows that are not for testing: of all classes so far
  for (size_t c = 0; c < order.counts.size(); ++c) {
    for (size_t i = 0; i < order.counts[c]; ++i) {
      const bool is_test = i < test[c];
      const bool is_validation =
        !is_test &&
        (options.folds ? others % *options.folds == *options.fold : i < test[c] + validation[c]);
      out.parts[order.places[begin + i].second] = is_test         ? row_part::test
                                                  : is_validation ? row_part::validation
                                                                  : row_part::train;
      others += is_test ? 0 : 1;
    }
    begin += order.counts[c];
  }
  require_enough(options, others, "rows that are not for testing");
}

// ---- By groups

/// Groups in order of their keys: those of their texts.
std::vector<size_t> order_of_groups(const dataset& rows, uint64_t seed) {
  std::vector<std::pair<checksum_bytes, size_t>> keys;
  for (size_t group = 0; group < rows.group_names.size(); ++group)
    keys.emplace_back(checksum_of(std::as_bytes(std::span{rows.group_names[group]}), seed), group);
  std::ranges::sort(keys);
  std::vector<size_t> result;
  for (const auto& [key, group] : keys)
    result.push_back(group);
  return result;
}

class group_split {
public:
  group_split(const dataset& rows, uint64_t seed)
    : rows_(rows),
      order_(order_of_groups(rows, seed)),
      sizes_(order_.size()),
      parts_(order_.size(), row_part::train) {
    for (const auto group : rows.groups)
      ++sizes_[group];
  }

  /// Words for people, or none for none.
  std::string take(row_part part, double fraction, const std::string& use) {
    if (fraction == 0)
      return {};
    const auto most = share_of(rows_.row_count, fraction);
    const auto first = next_;
    size_t count = 0;
    for (; next_ < order_.size() && count + sizes_[order_[next_]] <= most; ++next_) {
      count += sizes_[order_[next_]];
      parts_[order_[next_]] = part;
    }
    if (count == 0)
      refuse("data.split_by",
             "no rows are for " + use + ": the group " +
               shown_text(rows_.group_names[order_[std::min(next_, order_.size() - 1)]]) + " has " +
               std::to_string(sizes_[order_[std::min(next_, order_.size() - 1)]]) +
               " rows, and the part at most " + std::to_string(most),
             "use a larger share, or another job.seed");
    return fmt::format("{} of {} groups for {}, {:.3g} of the rows", next_ - first, order_.size(),
                       use, share(count));
  }

  std::string take_fold(const part_options& options) {
    if (!options.folds)
      return {};
    require_enough(options, order_.size() - next_, "groups that are not for testing");
    std::vector<size_t> counts(*options.folds);
    for (auto i = next_; i < order_.size(); ++i) {
      const auto least = static_cast<size_t>(std::ranges::min_element(counts) - counts.begin());
      counts[least] += sizes_[order_[i]];
      if (least == *options.fold)
        parts_[order_[i]] = row_part::validation;
    }
    return fmt::format("groups of fold {} for validation, {:.3g} of the rows", *options.fold,
                       share(counts[*options.fold]));
  }

  row_part of(size_t row) const { return parts_[rows_.groups[row]]; }

private:
  double share(size_t count) const {
    return static_cast<double>(count) / static_cast<double>(rows_.row_count);
  }

  const dataset& rows_;
  std::vector<size_t> order_;
  std::vector<size_t> sizes_;   ///< rows of each group
  std::vector<row_part> parts_; ///< of each group
  size_t next_ = 0;             ///< place in `order_`
};

void split_by_groups(const dataset& rows, uint64_t seed, const part_options& options,
                     row_split& out) {
  group_split groups{rows, seed};
  for (const auto& words :
       {groups.take(row_part::test, options.test_fraction, "testing"),
        groups.take(row_part::validation, options.validation_fraction, "validation"),
        groups.take_fold(options)})
    if (!words.empty())
      out.words += (out.words.empty() ? "" : "; ") + words;
  for (size_t row = 0; row < rows.row_count; ++row)
    out.parts[row] = groups.of(row);
}

} // namespace

row_split split_rows(const dataset& rows, uint64_t seed, const part_options& options) {
  if (options.stratify && !rows.is_classification())
    refuse("data.stratify", "the targets are numbers, not classes", "leave data.stratify out");
  row_split result;
  result.parts.resize(rows.row_count);
  if (rows.groups.empty())
    split_by_rows(rows, seed, options, result);
  else
    split_by_groups(rows, seed, options, result);
  result.sizes.test = static_cast<size_t>(std::ranges::count(result.parts, row_part::test));
  result.sizes.validation =
    static_cast<size_t>(std::ranges::count(result.parts, row_part::validation));
  if (rows.groups.empty() && options.stratify)
    result.words = "by class";
  if (rows.groups.empty() && options.folds)
    result.words +=
      (result.words.empty() ? "" : "; ") +
      fmt::format("fold {} of {} (from 0) for validation", *options.fold, *options.folds);
  return result;
}

namespace {

size_t less(size_t a, size_t b) {
  return a > b ? a - b : 0;
}

} // namespace

position_split::position_split(size_t row_count, size_t overlap, const part_options& options)
  : overlap_(overlap) {
  const auto wanted = sizes_of_parts(row_count, options);
  test_begin_ = row_count - wanted.test;
  others_end_ = wanted.test > 0 ? less(test_begin_, overlap) : row_count;
  require_enough(options, others_end_, "rows that are not for testing");
  if (options.folds) {
    validation_begin_ = others_end_ * *options.fold / *options.folds;
    validation_end_ = others_end_ * (*options.fold + 1) / *options.folds;
  } else if (wanted.validation > 0) {
    validation_begin_ = less(others_end_, wanted.validation);
    validation_end_ = others_end_;
  }
  sizes_.test = wanted.test;
  sizes_.validation = validation_end_ - validation_begin_;
  const auto train = sizes_.validation == 0
                       ? others_end_
                       : less(validation_begin_, overlap) +
                           less(others_end_, std::min(others_end_, validation_end_ + overlap));
  if (train == 0)
    throw failure(failure_code::bad_data,
                  "no rows are left for training: of " + std::to_string(row_count) + ", " +
                    std::to_string(sizes_.test + sizes_.validation) +
                    " are for testing and validation, and each part has to be " +
                    std::to_string(overlap) + " rows from the next to share no character with it",
                  {},
                  "use more data, a smaller data.test_fraction or data.validation_fraction, or a "
                  "smaller data.window");
  sizes_.none = row_count - train - sizes_.test - sizes_.validation;
}

row_part position_split::of(size_t row) const {
  if (row >= test_begin_)
    return row_part::test;
  if (row >= others_end_)
    return row_part::none;
  if (row >= validation_begin_ && row < validation_end_)
    return row_part::validation;
  const bool is_near = sizes_.validation > 0 && row + overlap_ >= validation_begin_ &&
                       row < validation_end_ + overlap_;
  return is_near ? row_part::none : row_part::train;
}

std::string position_split::words() const {
  if (sizes_.test + sizes_.validation == 0)
    return {};
  return "by position; " + std::to_string(sizes_.none) +
         " rows between the parts are of none, so that no two parts share a character";
}

} // namespace troupe
