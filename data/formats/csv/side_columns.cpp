#include "data/formats/csv/side_columns.hpp"

#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace troupe {

void client_finder::add(const std::string& name) {
  rows_.push_back(found_.try_emplace(name, static_cast<uint32_t>(found_.size())).first->second);
}

void client_finder::finish(std::vector<uint32_t>& clients, std::vector<std::string>& names) && {
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

side_columns::side_columns(const csv_reader& file, const csv_options& options, size_t target)
  : file_(file), columns_{target} {
  add(options.client, "clients", client_);
  add(options.group, "groups", group_);
  add(options.weight, "weights", weight_);
}

void side_columns::add(const std::string& wanted, const std::string& use, size_t& slot) {
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

void side_columns::take_row(const std::string* cells, const double* numbers, size_t line) {
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

void side_columns::take(table_chunk& rows, size_t row_count) {
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

void side_columns::finish(table& out) {
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

} // namespace troupe
