#include "data/rows_file/convert_rows.hpp"

#include "data/disk/open_file.hpp"
#include "data/model_file/saved_model.hpp"
#include "data/rows_file/rows_writer.hpp"
#include "data/source/text_source.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"
#include "models/base/copy_values.hpp"
#include "models/base/random.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

namespace troupe {

namespace {

/// What is shuffled in memory at once, and how many files there may be: each has a buffer of 4 KiB.
constexpr uint64_t bucket_bytes_wanted = uint64_t{32} << 20;
constexpr uint64_t buckets_max = 512;

std::FILE* nameless_file(const std::string& folder) {
#ifdef O_TMPFILE
  if (const auto number = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600); number >= 0)
    return ::fdopen(number, "w+b");
#endif
  auto name = folder + "/.troupe-shuffle-XXXXXX";
  const auto number = ::mkstemp(name.data());
  if (number < 0)
    return nullptr;
  ::unlink(name.c_str());
  return ::fdopen(number, "w+b");
}

/// Rows in random order without all of them in memory: each goes to one of many files without names,
/// by chance; then each of these is read and shuffled in memory. All orders are equally likely but
/// for the seed's limits, and the order is a function of (seed, rows, bytes of a row).
class bucket_shuffle {
public:
  /// The files lie in `folder`, and take as much of its disk as the rows as float32.
  bucket_shuffle(const std::string& folder, uint64_t seed, const rows_header& header)
    : folder_(folder),
      seed_(seed),
      feature_count_(header.feature_count),
      target_count_(header.target_count()),
      words_(feature_count_ + std::max<uint64_t>(target_count_, 1)),
      row_(words_) {
    const auto bytes = header.row_count * words_ * sizeof(float);
    buckets_.resize(std::clamp<uint64_t>(bytes / bucket_bytes_wanted + 1, 1, buckets_max));
    for (auto& bucket : buckets_) {
      bucket.file.reset(nameless_file(folder));
      if (!bucket.file)
        fail("cannot make a file for rows on their way");
    }
  }

  /// Throws failure(io_error) when the disk is full.
  void append(const rows_part& rows) {
    const random_sequence sequence{seed_, random_purpose::shuffle_chunks, 0};
    for (size_t i = 0; i * feature_count_ < rows.features.size(); ++i) {
      copy_values(rows.features.subspan(i * feature_count_, feature_count_), row_.begin());
      const auto targets = row_.begin() + static_cast<std::ptrdiff_t>(feature_count_);
      if (target_count_ == 0)
        *targets = std::bit_cast<float>(rows.labels[i]);
      else
        copy_values(rows.targets.subspan(i * target_count_, target_count_), targets);
      const auto word = sequence.block(static_cast<uint32_t>(appended_++))[0];
      auto& bucket = buckets_[uint64_t{word} * buckets_.size() >> 32];
      if (std::fwrite(row_.data(), sizeof(float), words_, bucket.file.get()) != words_)
        fail("cannot write rows on their way");
      ++bucket.row_count;
    }
  }

  /// Gives all rows to `out`, in random order.
  void drain(rows_writer& out) {
    for (size_t b = 0; b < buckets_.size(); ++b) {
      auto& bucket = buckets_[b];
      std::vector<float> rows(bucket.row_count * words_);
      std::rewind(bucket.file.get());
      if (std::fread(rows.data(), sizeof(float), rows.size(), bucket.file.get()) != rows.size())
        fail("cannot read rows on their way");
      bucket.file.reset();
      const auto order = random_permutation({seed_, random_purpose::shuffle_window, b},
                                            static_cast<uint32_t>(bucket.row_count));
      for (const auto number : order) {
        const auto row = std::span<const float>{rows}.subspan(number * words_, words_);
        const auto label = std::bit_cast<int32_t>(row[feature_count_]);
        if (target_count_ == 0)
          out.append({row.first(feature_count_), {&label, 1}, {}});
        else
          out.append({row.first(feature_count_), {}, row.subspan(feature_count_)});
      }
    }
  }

private:
  struct closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  struct pile {
    std::unique_ptr<std::FILE, closer> file;
    uint64_t row_count = 0;
  };

  [[noreturn]] void fail(const std::string& what) const {
    throw failure(failure_code::io_error, what + ": " + std::generic_category().message(errno),
                  folder_, "shuffling needs as much of the disk again as the rows");
  }

  std::string folder_;
  uint64_t seed_;
  uint64_t feature_count_;
  uint64_t target_count_; ///< 0: a label
  uint64_t words_;        ///< of 4 bytes, of a row
  uint64_t appended_ = 0;
  std::vector<pile> buckets_;
  std::vector<float> row_;
};

/// Finds out what a target column holds while its rows pass by: the classes and how many rows each
/// has, or the range of its numbers. The rules are those of `to_dataset` (data/table/table.hpp);
/// memory is for the different cells of a class column, not for rows.
class target_survey {
public:
  target_survey(std::string source, std::string target_name, target_use use)
    : source_(std::move(source)),
      target_name_(std::move(target_name)),
      use_(use),
      minimum_(std::numeric_limits<double>::infinity()),
      maximum_(-std::numeric_limits<double>::infinity()) {}

  /// The cells of the next rows: one target each.
  void add(const table_chunk& rows) {
    for (size_t i = 0; i < rows.row_count; ++i) {
      const auto number = rows.target_numbers[i];
      ++row_count_;
      if (std::isnan(number)) {
        all_numbers_ = false;
        if (use_ == target_use::numbers || gave_up_cells_)
          throw failure(failure_code::bad_data,
                        shown_text(rows.target_cells[i]) + " in the target " +
                          shown_text(target_name_) + " is no number, as those before it are",
                        source_, "are these classes? say so: --targets classes");
      } else {
        // As it will be stored: a float32.
        minimum_ = std::min<double>(minimum_, static_cast<float>(number));
        maximum_ = std::max<double>(maximum_, static_cast<float>(number));
        all_whole_ = all_whole_ && std::trunc(number) == number;
      }
      if (keeps_cells()) {
        if (rows_of_[rows.target_cells[i]]++ == 0)
          cells_.push_back(rows.target_cells[i]);
      } else if (!std::exchange(gave_up_cells_, true)) {
        rows_of_.clear();
        cells_.clear();
      }
    }
  }

  /// Writes classes and class_rows, or the range of the numbers, to `out`. Throws what to_dataset
  /// throws; failure(bad_data) when text comes behind what looked like numbers.
  void tell(rows_header& out) const {
    table seen;
    if (!gave_up_cells_) {
      // Each cell once, or twice where values repeat: that is what classes are told from numbers by.
      const auto times = row_count_ >= 2 * cells_.size() ? 2 : 1;
      for (int time = 0; time < times; ++time)
        for (const auto& cell : cells_)
          seen.target_cells.push_back(cell);
    }
    seen.row_count = seen.target_cells.size();
    seen.target_name = target_name_;
    seen.source = source_;
    if (all_numbers_)
      for (const auto& cell : seen.target_cells)
        seen.target_numbers.push_back(std::strtod(cell.c_str(), nullptr));
    const auto told = gave_up_cells_ ? dataset{} : to_dataset(std::move(seen), use_);
    if (!told.is_classification()) {
      if (!std::isfinite(minimum_) || !std::isfinite(maximum_))
        throw failure(failure_code::bad_data,
                      "a value of the target " + shown_text(target_name_) +
                        " does not fit a floating-point number",
                      source_, "numbers go up to 3.4e38: use another unit");
      out.target_minimum = minimum_;
      out.target_maximum = maximum_;
      return;
    }
    out.classes = told.classes;
    out.class_rows.assign(told.classes.size(), 0);
    const class_finder classes{out.classes};
    for (const auto& [cell, rows] : rows_of_)
      out.class_rows[classes.find(cell).value()] += rows;
  }

private:
  // Numbers of which there are too many different ones are none of a class.
  bool keeps_cells() const {
    return use_ == target_use::labels || !all_numbers_ ||
           (use_ == target_use::by_content && all_whole_ &&
            cells_.size() <= 2 * class_count_max_to_ask);
  }

  std::string source_;
  std::string target_name_;
  target_use use_;
  uint64_t row_count_ = 0;
  bool all_numbers_ = true;
  bool all_whole_ = true;
  bool gave_up_cells_ = false; ///< too many different numbers for classes
  double minimum_ = 0;
  double maximum_ = 0;
  std::map<std::string, uint64_t> rows_of_; ///< by cell
  std::vector<std::string> cells_;          ///< different ones, as they came
};

constexpr size_t rows_at_once = 4096;

bool is_byte(float value) {
  return value >= 0 && value <= 255 && std::trunc(value) == value;
}

// Names go into JSON, which is UTF-8.
std::vector<std::string> as_utf8(std::vector<std::string> names) {
  for (auto& name : names)
    if (!is_utf8(name))
      name = shown_text(name);
  return names;
}

void tell(const convert_options& options, uint64_t done, uint64_t of) {
  reading_stop::check();
  if (options.on_progress)
    options.on_progress(done, of);
}

// The first reading.
rows_header survey(const row_opener& open, const convert_options& options) {
  const auto reader = open();
  rows_header result;
  result.feature_names = as_utf8(reader->feature_names());
  result.feature_count = result.feature_names.size();
  result.target_names = as_utf8({options.target_name});
  std::optional<target_survey> targets;
  bool all_bytes = true;
  for (table_chunk rows; reader->next(rows, rows_at_once);) {
    if (!targets) {
      targets.emplace(reader->path(), options.target_name, options.use);
    }
    targets->add(rows);
    all_bytes = all_bytes && std::ranges::all_of(rows.features, is_byte);
    result.row_count += rows.row_count;
    tell(options, result.row_count, 0);
  }
  if (result.row_count == 0 || result.row_count > rows_count_max)
    throw failure(failure_code::bad_data,
                  result.row_count == 0 ? "there are no rows" : "more than 4294967295 rows",
                  reader->path(), "");
  result.type = all_bytes ? feature_type::u8 : feature_type::f32;
  result.chunk_rows = std::min(
    options.chunk_rows.value_or(default_chunk_rows(result.row_count, result.feature_bytes())),
    result.row_count);
  targets->tell(result);
  return result;
}

/// The targets of a part of the second reading, as they are stored.
struct part_targets {
  std::vector<int32_t> labels;
  std::vector<float> numbers;

  void set(const table_chunk& rows, const class_finder& classes, const rows_header& header,
           const row_reader& reader) {
    labels.clear();
    numbers.clear();
    for (size_t i = 0; i < rows.row_count; ++i) {
      if (!header.is_classification()) {
        numbers.push_back(static_cast<float>(rows.target_numbers[i]));
        continue;
      }
      const auto found = classes.find(rows.target_cells[i]);
      if (!found)
        reader.fail_at_target(rows, i, "a class that was not there when rows were counted",
                              "did somebody write to the file meanwhile? begin again");
      labels.push_back(static_cast<int32_t>(*found));
    }
  }
};

} // namespace

rows_header convert_rows(const row_opener& open, const std::string& path,
                         const convert_options& options) {
  const auto header = survey(open, options);
  rows_writer writer{path, header};
  std::optional<bucket_shuffle> shuffle;
  if (options.shuffle)
    shuffle.emplace(folder_of(path), *options.shuffle, header);
  const auto reader = open();
  const class_finder classes{header.classes};
  part_targets targets;
  uint64_t done = 0;
  for (table_chunk rows; reader->next(rows, rows_at_once);) {
    targets.set(rows, classes, header, *reader);
    const rows_part part{rows.features, targets.labels, targets.numbers};
    if (shuffle)
      shuffle->append(part);
    else
      writer.append(part);
    tell(options, done += rows.row_count, header.row_count);
  }
  if (shuffle)
    shuffle->drain(writer);
  writer.publish();
  return header;
}

} // namespace troupe
