#include "data/formats/csv/csv.hpp"

#include "data/formats/csv/csv_reader.hpp"
#include "data/table/memory_room.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"
#include "models/base/buffer.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace troupe {

namespace {

// Columns of a CSV file that are neither features nor the target, but say something of their row: whose it is,
// which rows it stays together with, what it counts.

/// Clients' names as rows come that say whose they are, and their numbers in the end.
class client_finder {
public:
  /// The next row is this client's.
  void add(const std::string& name) {
    rows_.push_back(found_.try_emplace(name, static_cast<uint32_t>(found_.size())).first->second);
  }

  /// The rows' clients, as numbers of the names sorted by bytes: they do not depend on the order of
  /// rows.
  void finish(std::vector<uint32_t>& clients, std::vector<std::string>& names) && {
    std::vector<std::pair<std::string, uint32_t>> sorted(found_.begin(), found_.end());
    std::ranges::sort(sorted);
    std::vector<uint32_t> number(sorted.size());
    names.clear();
    for (auto& [name, appeared] : sorted) {
      number[appeared] = static_cast<uint32_t>(names.size());
      names.push_back(std::move(name));
    }
    clients = std::move(rows_);
    for (auto& client : clients)
      client = number[client];
  }

private:
  std::unordered_map<std::string, uint32_t> found_; ///< in order of appearance
  std::vector<uint32_t> rows_;
};

class side_columns {
public:
  /// Finds the columns that the options name. Throws failure(bad_data) for one that is not there, is the
  /// target or another of them, and when no feature is left.
  side_columns(const csv_reader& file, const csv_options& options, size_t target)
    : file_(file), columns_{target} {
    add(options.client, "clients", client_);
    add(options.split_by, "groups", group_);
    add(options.weight, "weights", weight_);
  }

  /// The target and, behind it, these: what the reader is to give as targets.
  const std::vector<size_t>& columns() const noexcept { return columns_; }

  /// Takes their cells out of the last rows of `rows`, whose lines are those of these rows; the target's stay.
  /// Throws failure(bad_data), naming the line, for a weight that is no finite number of 0 or more.
  void take(table_chunk& rows, size_t row_count) {
    const auto width = columns_.size();
    if (width == 1)
      return;
    auto& cells = rows.target_cells;
    auto& numbers = rows.target_numbers;
    const auto first_cell = cells.size() - width * row_count;
    const auto first_number = numbers.size() - width * row_count;
    for (size_t i = 0; i < row_count; ++i) {
      take_row(cells.data() + first_cell + width * i, numbers.data() + first_number + width * i,
               rows.lines[i]);
      if (i > 0)
        cells[first_cell + i] = std::move(cells[first_cell + width * i]);
      numbers[first_number + i] = numbers[first_number + width * i];
    }
    cells.resize(first_cell + row_count);
    numbers.resize(first_number + row_count);
  }

  /// What they said, of all rows. Throws failure(bad_data) when all weights are 0. Once.
  void finish(table& out) {
    if (client_ > 0)
      std::move(clients_).finish(out.clients, out.client_names);
    if (group_ > 0)
      std::move(groups_).finish(out.groups, out.group_names);
    if (weight_ > 0 && std::ranges::all_of(weights_, [](float weight) { return weight == 0; }))
      throw failure(failure_code::bad_data,
                    "all weights in the column " +
                      shown_text(file_.column_names()[columns_[weight_]]) + " are 0",
                    file_.path(), "is it the right column?");
    out.weights = std::move(weights_);
  }

private:
  void add(const std::string& wanted, const std::string& use, size_t& slot) {
    if (wanted.empty())
      return;
    const auto refuse = [&](const std::string& reason, const std::string& hint) {
      throw failure(failure_code::bad_data, reason, file_.path() + ":1:1", hint);
    };
    const auto column = file_.find_column(wanted);
    if (column == columns_.front())
      refuse("the column " + shown_text(wanted) + " is the target: it names no " + use,
             "name another column of " + use + ", or another target");
    if (std::ranges::find(columns_, column) != columns_.end())
      refuse("the column " + shown_text(wanted) + " of " + use + " is named for something else too",
             "name another column of " + use);
    slot = columns_.size();
    columns_.push_back(column);
    if (file_.column_count() == columns_.size())
      refuse("the file has a target, and a column of " + use + ", but no feature",
             "add a column of numbers");
  }

  void take_row(const std::string* cells, const double* numbers, size_t line) {
    if (client_ > 0)
      clients_.add(cells[client_]);
    if (group_ > 0)
      groups_.add(cells[group_]);
    if (weight_ == 0)
      return;
    const auto weight = static_cast<float>(numbers[weight_]);
    if (!(weight >= 0) || !std::isfinite(weight))
      throw failure(failure_code::bad_data,
                    "the weight " + shown_text(cells[weight_]) + " in the column " +
                      shown_text(file_.column_names()[columns_[weight_]]) +
                      " is no finite number of 0 or more",
                    file_.path() + ":" + std::to_string(line),
                    "0 leaves a row out of the loss; remove the row, or fill the value in");
    weights_.push_back(weight);
  }

  const csv_reader& file_;
  std::vector<size_t> columns_;
  size_t client_ = 0; ///< places in `columns_`; 0: nothing says so
  size_t group_ = 0;
  size_t weight_ = 0;
  client_finder clients_;
  client_finder groups_;
  std::vector<float> weights_;
};

[[noreturn]] void refuse_at_names(const csv_reader& file, const std::string& reason,
                                  const std::string& hint) {
  throw failure(failure_code::bad_data, reason, file.path() + ":1:1", hint);
}

plan_column& column_of(std::vector<plan_column>& columns, const csv_reader& file,
                       const std::string& wanted, const std::string& key) {
  const auto& name = file.column_names()[file.find_column(wanted)];
  const auto found = std::ranges::find(columns, name, &plan_column::name);
  if (found == columns.end())
    refuse_at_names(file,
                    "the column " + shown_text(wanted) +
                      " is to be read in its own way, but it is no feature",
                    "take it out of " + key +
                      ": it is the target, one of clients, groups or weights, or ignored");
  if (found->kind != column_kind::number)
    refuse_at_names(file, "the column " + shown_text(wanted) + " is named twice",
                    "name it in " + key +
                      ", or in the other of the keys that say how cells are read");
  return *found;
}

std::shared_ptr<cell_coder> coder_that_learns(const csv_reader& file, const column_options& choice,
                                              size_t target) {
  std::vector<plan_column> columns;
  for (auto& name : file.feature_names())
    columns.push_back({name});
  std::optional<plan_column> target_plan;
  for (const auto& [kind, key, named] : column_readings)
    for (const auto& name : choice.*named)
      if (kind == column_kind::amount && file.find_column(name) == target) {
        target_plan = {file.column_names()[target], kind};
      } else {
        auto& column = column_of(columns, file, name, key);
        column.kind = kind;
        if (kind == column_kind::date || kind == column_kind::datetime)
          column.order = choice.date_order;
      }
  return std::make_shared<cell_coder>(choice, std::move(columns), std::move(target_plan));
}

/// Null: cells are numbers.
std::shared_ptr<cell_coder> coder_for(csv_reader& file, const csv_options& options, size_t target) {
  std::vector<size_t> columns;
  for (const auto& name : options.plan.empty() ? options.features : names_of(options.plan))
    columns.push_back(file.find_column(name));
  if (!columns.empty())
    file.set_features(columns);
  if (options.plan.empty())
    return options.has_plan() ? coder_that_learns(file, options, target) : nullptr;
  return std::make_shared<cell_coder>(options.plan);
}

void require_names_apart(const csv_reader& file, const std::vector<std::string>& names) {
  std::set<std::string_view> seen;
  for (const auto& name : names)
    if (!seen.insert(name).second)
      refuse_at_names(file, "two features would be called " + shown_text(name),
                      "give the column another name");
}

/// Features of coded cells, by the plan that they tell or that was there.
void expand_cells(const csv_reader& file, cell_coder& coder, bool learns, const table_limit& limit,
                  table& out) {
  out.columns = learns ? coder.learn(out.features) : coder.plan();
  auto names = feature_names_of(out.columns);
  require_names_apart(file, names);
  limit.require((out.features.size() + out.row_count * names.size()) * sizeof(float));
  out.features = expand(out.columns, out.features);
  out.feature_names = std::move(names);
  for (auto& remark : {file.dropped_remark(), coder.unseen_remark()})
    if (!remark.empty())
      out.remarks.push_back(file.path() + ": " + remark);
}

/// Puts a whole file together, with one target, and what else is said of its rows.
class csv_collector {
public:
  csv_collector(csv_reader& file, csv_header header, const table_limit& limit, side_columns& sides)
    : file_(file), header_(header), limit_(limit), sides_(sides) {}

  /// Reads all rows. Throws failure as read_csv does.
  table collect() && {
    bool is_reserved = false;
    while (const auto partition = file_.append(rows_, std::numeric_limits<size_t>::max())) {
      sides_.take(rows_, partition.row_count);
      limit_.require(rows_.features.size() * sizeof(float) +
                     rows_.target_cells.size() * target_bytes_max);
      look_at_targets(partition.row_count);
      if (partition.row_count > 1 && !std::exchange(is_reserved, true))
        reserve(partition);
    }
    file_.require_rows(rows_);
    if (header_ == csv_header::automatic && hidden_header_.is_likely())
      file_.refuse_hidden_header(rows_, 0, first_text_line_);
    table result;
    result.row_count = rows_.row_count;
    result.features = std::move(rows_.features);
    result.target_cells = std::move(rows_.target_cells);
    result.target_numbers = std::move(rows_.target_numbers);
    result.first_text_line = first_text_line_;
    if (first_text_row_ != no_row)
      result.first_text_cell = result.target_cells[first_text_row_];
    sides_.finish(result);
    return result;
  }

private:
  /// Makes room for all rows of the file if they are like these: the table then never moves.
  void reserve(const csv_block& like) {
    const auto text_bytes = file_.expected_size();
    // A cell has two bytes of text at least, so this takes no more than twice the file.
    const auto row_bytes_min = std::max(like.text_bytes / like.row_count, 2 * file_.column_count());
    const auto count = text_bytes / row_bytes_min + text_bytes / row_bytes_min / 50 + 2;
    reserve_large(rows_.features, count * file_.feature_names().size());
    rows_.target_cells.reserve(count);
    if (first_text_row_ == no_row)
      rows_.target_numbers.reserve(count);
  }

  void look_at_targets(size_t row_count) {
    const std::span numbers = std::span{rows_.target_numbers}.last(row_count);
    const auto first_row = rows_.row_count - row_count;
    for (size_t i = 0; i < row_count && !all_is_known(); ++i) {
      const bool is_text = std::isnan(numbers[i]);
      hidden_header_.on_target(first_row + i, is_text);
      if (is_text && first_text_row_ == no_row) {
        first_text_row_ = first_row + i;
        first_text_line_ = rows_.lines[i];
      }
    }
    rows_.lines.clear();
    if (first_text_row_ != no_row)
      rows_.target_numbers.clear();
  }

  bool all_is_known() const { return first_text_row_ != no_row && hidden_header_.is_excluded(); }

  csv_reader& file_;
  csv_header header_;
  const table_limit& limit_;
  side_columns& sides_;
  table_chunk rows_; ///< lines of the last partition only, numbers too once a target was text
  hidden_header hidden_header_;
  size_t first_text_row_ = no_row;
  size_t first_text_line_ = 0;

  static constexpr size_t no_row = std::numeric_limits<size_t>::max();
};

/// What may not be as people mean it.
void add_remarks(const csv_reader& file, const lost_digits& digits,
                 const std::vector<std::string>& features, const cell_coder* coder, table& out) {
  for (const auto& doubt : file.doubts())
    out.remarks.push_back(file.path() + ": " + doubt);
  const auto name_of = [&](size_t slot) {
    const bool is_number = !coder || coder->plan().columns[slot].kind == column_kind::number;
    return is_number ? features[slot] : std::string{};
  };
  digits.add_remarks(file.path(), name_of, out.remarks);
}

/// Says which columns are no features because others were known as such.
void add_left_out(const csv_reader& file, const std::vector<std::string>& all,
                  const std::vector<std::string>& features, table& out) {
  constexpr size_t shown_at_most = 5;
  const std::set<std::string_view> known{features.begin(), features.end()};
  std::string names;
  size_t count = 0;
  for (const auto& name : all)
    if (!known.contains(name) && ++count <= shown_at_most)
      names += (names.empty() ? "" : ", ") + shown_text(name);
  if (count > 0)
    out.remarks.push_back(file.path() + ": left out, for it is none of the known features: " +
                          names + (count > shown_at_most ? ", .." : ""));
}

} // namespace

table read_csv(const std::string& path, const csv_options& options) {
  const table_limit limit(path, options.table_bytes_max);
  csv_reader file(path, options);
  const auto target = file.find_column(options.target);
  side_columns sides{file, options, target};
  file.set_targets(sides.columns());
  file.ignore(options.ignore);
  const auto all_names = file.feature_names();
  const auto coder = coder_for(file, options, target);
  file.code_cells(coder);
  const auto names = file.feature_names();
  const auto digits = std::make_shared<lost_digits>(names.size());
  file.watch_digits(digits);
  auto result = csv_collector{file, options.header, limit, sides}.collect();
  result.feature_names = names;
  if (coder)
    expand_cells(file, *coder, options.plan.empty(), limit, result);
  result.feature_count = result.feature_names.size();
  result.target_name = file.column_names()[target];
  result.source = path;
  add_remarks(file, *digits, names, coder.get(), result);
  add_left_out(file, all_names, names, result);
  return result;
}

} // namespace troupe
