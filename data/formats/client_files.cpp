#include "troupe/data/formats/client_files.hpp"

#include "troupe/data/text/failure.hpp"
#include "troupe/data/text/shown_text.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace troupe {

namespace {

bool matches(std::string_view pattern, std::string_view name) {
  if (pattern.empty())
    return name.empty();
  if (pattern.front() == '*')
    return matches(pattern.substr(1), name) || (!name.empty() && matches(pattern, name.substr(1)));
  return !name.empty() && (pattern.front() == '?' || pattern.front() == name.front()) &&
         matches(pattern.substr(1), name.substr(1));
}

void require_same_columns(const table& all, const table& next) {
  if (!next.known.names.empty())
    throw failure(failure_code::bad_data,
                  "a text has a vocabulary of its own, and a code would be another character in "
                  "each client's file",
                  next.source, "deal one text out: federated.partition = \"iid\"");
  if (!next.sparse.exists() && next.feature_names == all.feature_names &&
      next.target_name == all.target_name)
    return;
  throw failure(failure_code::bad_data,
                next.sparse.exists()
                  ? std::string{"the rows of clients are dense, these are sparse"}
                  : "the columns are not those of " + shown_text(all.source),
                next.source, "give all clients' files the same columns, in the same order");
}

template <class T>
void append(std::vector<T>& to, std::vector<T>&& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

// Where targets are text is known of the first file that has any.
void append_rows(table& all, table&& next) {
  const bool are_numbers =
    all.target_numbers.size() == all.row_count && next.target_numbers.size() == next.row_count;
  if (all.first_text_line == 0 && next.first_text_line > 0) {
    all.source = next.source;
    all.first_text_line = next.first_text_line;
    all.first_text_cell = next.first_text_cell;
  }
  append(all.features, std::move(next.features));
  append(all.target_cells, std::move(next.target_cells));
  append(all.target_numbers, std::move(next.target_numbers));
  if (!are_numbers)
    all.target_numbers.clear();
  all.row_count += next.row_count;
}

} // namespace

std::vector<std::string> matching_files(const std::string& pattern) {
  const std::filesystem::path path{pattern};
  const auto folder = path.parent_path();
  const auto names = path.filename().string();
  std::vector<std::string> result;
  std::error_code problem;
  for (const auto& entry :
       std::filesystem::directory_iterator{folder.empty() ? "." : folder, problem}) {
    const auto name = entry.path().filename().string();
    if (!name.starts_with('.') && matches(names, name))
      result.push_back((folder / name).string());
  }
  if (result.empty())
    throw failure(failure_code::missing_input, "no file is called so", pattern,
                  "* stands for any letters of a file's name, not of its folder's");
  std::ranges::sort(result);
  return result;
}

table read_client_files(const std::string& pattern, const read_options& options) {
  table result;
  const auto files = matching_files(pattern);
  for (size_t client = 0; client < files.size(); ++client) {
    auto next = read_data(files[client], options);
    const auto row_count = next.row_count;
    if (client == 0) {
      require_same_columns(next, next);
      result = std::move(next);
    } else {
      require_same_columns(result, next);
      append_rows(result, std::move(next));
    }
    result.clients.insert(result.clients.end(), row_count, static_cast<uint32_t>(client));
    result.client_names.push_back(std::filesystem::path{files[client]}.filename().string());
  }
  return result;
}

} // namespace troupe
