#include "data/training_rows/part_choice.hpp"

#include "data/text/failure.hpp"
#include "models/base/copy_values.hpp"
#include "models/base/random.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace troupe {

namespace {

/// Gives memory back to the system while its owner keeps the addresses: for large vectors that have been read past
/// and will be written anew, or never again. The whole pages within `bytes` take no memory until they are written
/// again; what they held is lost, and the caller must take the rest of `bytes` for lost too.
void release_pages(std::span<std::byte> bytes) {
  static const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  const auto first = (begin + page - 1) / page * page;
  const auto last = (begin + bytes.size()) / page * page;
  if (first < last) // advice: where it is not taken, memory is held for longer
    ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

/// Keys are counted by their highest bits first: what is left to sort is a few thousandths of a
/// percent of them.
constexpr unsigned counted_bits = 16;
constexpr unsigned uncounted_bits = 64 - counted_bits;

struct bucket_place {
  size_t bucket = 0;
  size_t rank = 0; ///< within the bucket
};

bucket_place bucket_of(const std::vector<size_t>& counts, size_t rank) {
  bucket_place result{0, rank};
  while (result.rank >= counts[result.bucket])
    result.rank -= counts[result.bucket++];
  return result;
}

/// Rows of one vector on their way to three: those for training move up in it.
template <class T>
class moving_rows {
public:
  moving_rows(std::vector<T>& rows, size_t row_count, const part_sizes& sizes, std::vector<T>& test,
              std::vector<T>& validation)
    : rows_(rows), width_(row_count == 0 ? 0 : rows.size() / row_count), outs_{&test, &validation} {
    test.reserve(sizes.test * width_);
    validation.reserve(sizes.validation * width_);
  }

  void move(size_t row, row_part to) {
    const auto values = std::span{rows_}.subspan(row * width_, width_);
    if (to == row_part::train) {
      if (end_ < row * width_)
        copy_values(values, rows_.begin() + static_cast<std::ptrdiff_t>(end_));
      end_ += width_;
    } else if (to != row_part::none) {
      auto& out = *outs_[to == row_part::test ? 0 : 1];
      out.insert(out.end(), values.begin(), values.end());
    }
    if ((row + 1) * width_ - released_ >= values_between_releases)
      release((row + 1) * width_);
  }

  void finish() {
    release(rows_.size());
    rows_.resize(end_);
  }

private:
  static constexpr size_t values_between_releases = 1 << 20;

  // What lies between the rows that moved up and those that are still to move is of no use.
  void release(size_t read_end) {
    release_pages(std::as_writable_bytes(std::span{rows_}.subspan(end_, read_end - end_)));
    released_ = read_end;
  }

  std::vector<T>& rows_;
  size_t width_;
  std::array<std::vector<T>*, 2> outs_;
  size_t end_ = 0;
  size_t released_ = 0;
};

/// The same for sparse rows. What moves is counted first: it is held twice for a moment, the rest once.
void split(sparse_matrix& rows, const std::function<row_part(size_t row)>& part_of,
           sparse_matrix& test, sparse_matrix& validation) {
  const auto out_of = [&](row_part part) { return part == row_part::test ? &test : &validation; };
  const auto row_count = rows.row_count();
  std::array<size_t, 4> counts{};
  for (size_t row = 0; row < row_count; ++row)
    counts[static_cast<size_t>(part_of(row))] += rows.starts[row + 1] - rows.starts[row];
  for (const auto part : {row_part::test, row_part::validation}) {
    out_of(part)->features.reserve(counts[static_cast<size_t>(part)]);
    out_of(part)->values.reserve(counts[static_cast<size_t>(part)]);
  }
  size_t kept_rows = 0, end = 0;
  for (size_t row = 0; row < row_count; ++row) {
    const auto begin = rows.starts[row], count = rows.starts[row + 1] - begin;
    const auto features = std::span{rows.features}.subspan(begin, count);
    const auto values = std::span{rows.values}.subspan(begin, count);
    if (const auto part = part_of(row); part == row_part::train) {
      copy_values(features, rows.features.begin() + static_cast<std::ptrdiff_t>(end));
      copy_values(values, rows.values.begin() + static_cast<std::ptrdiff_t>(end));
      end += count;
      rows.starts[kept_rows++] = end - count; // of this row or one before it
    } else if (part != row_part::none) {
      auto& out = *out_of(part);
      out.features.insert(out.features.end(), features.begin(), features.end());
      out.values.insert(out.values.end(), values.begin(), values.end());
      out.starts.push_back(out.features.size());
    }
  }
  rows.starts[kept_rows] = end;
  rows.starts.resize(kept_rows + 1);
  rows.features.resize(end);
  rows.values.resize(end);
}

} // namespace

// A fraction is the double next to what was written: 0.29 of 100 rows is 29, though the product
// falls short of it by a last place or two.
size_t share_of(size_t row_count, double fraction) {
  constexpr double rounding_max = 0x1p-51;
  const double product = fraction * static_cast<double>(row_count);
  const double nearest = std::round(product);
  const bool is_whole = std::fabs(product - nearest) <= nearest * rounding_max;
  return static_cast<size_t>(is_whole ? nearest : std::floor(product));
}

part_sizes sizes_of_parts(size_t row_count, const part_options& options) {
  const part_sizes result{share_of(row_count, options.test_fraction),
                          share_of(row_count, options.validation_fraction)};
  if (row_count <= result.test + result.validation)
    throw failure(failure_code::bad_data, "no rows are left for training", {},
                  "use more data, or a smaller data.test_fraction or data.validation_fraction");
  return result;
}

row_place place_of(uint64_t seed, size_t row) {
  const auto words =
    random_sequence{seed, random_purpose::split, 0}.block(static_cast<uint32_t>(row));
  return {uint64_t{words[1]} << 32 | words[0], row};
}

part_choice::part_choice(uint64_t seed, size_t row_count, const part_sizes& sizes) : seed_(seed) {
  if (sizes.test + sizes.validation == 0)
    return;
  std::vector<size_t> counts(size_t{1} << counted_bits);
  for (size_t row = 0; row < row_count; ++row)
    ++counts[place_of(seed_, row).first >> uncounted_bits];
  const auto test = bucket_of(counts, sizes.test);
  const auto validation = bucket_of(counts, sizes.test + sizes.validation);
  std::vector<row_place> of_test, of_validation;
  for (size_t row = 0; row < row_count; ++row) {
    const auto found = place_of(seed_, row);
    const auto bucket = found.first >> uncounted_bits;
    if (bucket == test.bucket)
      of_test.push_back(found);
    if (bucket == validation.bucket)
      of_validation.push_back(found);
  }
  const auto pick = [](std::vector<row_place>& places, size_t rank) {
    const auto found = places.begin() + static_cast<std::ptrdiff_t>(rank);
    std::ranges::nth_element(places, found);
    return *found;
  };
  test_end_ = pick(of_test, test.rank);
  validation_end_ = pick(of_validation, validation.rank);
}

row_part part_choice::of(size_t row) const {
  const auto found = place_of(seed_, row);
  return found < test_end_         ? row_part::test
         : found < validation_end_ ? row_part::validation
                                   : row_part::train;
}

std::vector<size_t> source_rows(uint64_t seed, size_t row_count, const part_sizes& sizes,
                                std::span<const size_t> training_rows) {
  if (sizes.test + sizes.validation == 0)
    return {training_rows.begin(), training_rows.end()};
  const part_choice choice{seed, row_count, sizes};
  std::vector<size_t> source;
  for (size_t i = 0; i < row_count; ++i)
    if (choice.of(i) == row_part::train)
      source.push_back(i);
  std::vector<size_t> result;
  for (const auto row : training_rows)
    result.push_back(source.at(row));
  return result;
}

dataset without_rows(const dataset& source) {
  dataset result;
  result.feature_count = source.feature_count;
  result.feature_names = source.feature_names;
  result.columns = source.columns;
  if (source.is_sparse())
    result.sparse.starts = {0};
  result.lent.values = source.lent.values;
  result.classes = source.classes;
  result.target_count = source.target_count;
  result.target_names = source.target_names;
  return result;
}

void split(dataset& rows, const part_sizes& sizes,
           const std::function<row_part(size_t row)>& part_of, dataset& test, dataset& validation) {
  test = validation = without_rows(rows);
  test.row_count = sizes.test;
  validation.row_count = sizes.validation;
  if (sizes.test + sizes.validation + sizes.none == 0)
    return;
  const auto row_count = rows.row_count;
  if (rows.lent.exist()) {
    rows.lent.places.resize(row_count);
    std::iota(rows.lent.places.begin(), rows.lent.places.end(), 0u);
  }
  moving_rows features{rows.features, row_count, sizes, test.features, validation.features};
  moving_rows lent{rows.lent.places, row_count, sizes, test.lent.places, validation.lent.places};
  moving_rows labels{rows.labels, row_count, sizes, test.labels, validation.labels};
  moving_rows targets{rows.targets, row_count, sizes, test.targets, validation.targets};
  moving_rows clients{rows.clients, row_count, sizes, test.clients, validation.clients};
  moving_rows weights{rows.weights, row_count, sizes, test.weights, validation.weights};
  if (rows.is_sparse())
    split(rows.sparse, part_of, test.sparse, validation.sparse);
  for (size_t row = 0; row < row_count; ++row) {
    const auto part = part_of(row);
    features.move(row, part);
    lent.move(row, part);
    labels.move(row, part);
    targets.move(row, part);
    clients.move(row, part);
    weights.move(row, part);
  }
  features.finish();
  lent.finish();
  labels.finish();
  targets.finish();
  clients.finish();
  weights.finish();
  rows.row_count = row_count - sizes.test - sizes.validation - sizes.none;
}

chunk_split::chunk_split(uint64_t seed, size_t row_count, size_t chunk_rows,
                         const part_options& options)
  : seed_(seed),
    row_count_(row_count),
    chunk_rows_(chunk_rows),
    sizes_(sizes_of_parts(row_count, options)) {}

size_t chunk_split::rows_before(row_part part, size_t count) const {
  const auto test = sizes_.test * count / row_count_; // both are below 2^32
  const auto validation = sizes_.validation * (count - test) / (row_count_ - sizes_.test);
  switch (part) {
  case row_part::test:
    return test;
  case row_part::validation:
    return validation;
  case row_part::train:
  case row_part::none:
    break;
  }
  return count - test - validation;
}

std::vector<uint64_t> chunk_split::begins_of(row_part part) const {
  std::vector<uint64_t> result;
  for (size_t chunk = 0; chunk < chunk_count(); ++chunk)
    result.push_back(rows_before(part, chunk * chunk_rows_));
  result.push_back(rows_before(part, row_count_));
  return result;
}

std::vector<row_part> chunk_split::parts_of(size_t chunk) const {
  const auto begin = chunk * chunk_rows_;
  const auto end = std::min(begin + chunk_rows_, row_count_);
  const auto given = [&](row_part part) {
    return static_cast<std::ptrdiff_t>(rows_before(part, end) - rows_before(part, begin));
  };
  std::vector<row_part> result(end - begin, row_part::train);
  if (given(row_part::test) + given(row_part::validation) == 0)
    return result;
  std::vector<row_place> places;
  for (auto row = begin; row < end; ++row)
    places.push_back(place_of(seed_, row));
  const auto test_end = places.begin() + given(row_part::test);
  const auto validation_end = test_end + given(row_part::validation);
  std::ranges::nth_element(places, test_end);
  std::ranges::nth_element(test_end, validation_end, places.end());
  for (auto place = places.begin(); place != validation_end; ++place)
    result[place->second - begin] = place < test_end ? row_part::test : row_part::validation;
  return result;
}

std::vector<size_t> chunk_split::source_rows(std::span<const size_t> training_rows) const {
  const auto begins = begins_of(row_part::train);
  std::vector<size_t> result;
  for (const auto row : training_rows) {
    const auto after = std::ranges::upper_bound(begins, row);
    const auto chunk = static_cast<size_t>(after - begins.begin()) - 1;
    const auto parts = parts_of(chunk);
    auto left = row - begins[chunk];
    size_t place = 0;
    while (parts[place] != row_part::train || left-- > 0)
      ++place;
    result.push_back(chunk * chunk_rows_ + place);
  }
  return result;
}

} // namespace troupe
