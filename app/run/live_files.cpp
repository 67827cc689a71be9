#include "app/run/live_files.hpp"

#include "data/text/failure.hpp"

#include <utility>

namespace troupe {

live_files::live_files(const run_directory& folder, bool wants_tensorboard,
                       std::optional<std::vector<history_row>> earlier, uint64_t version,
                       std::function<void(const std::string&)> warn)
  : history_path_(folder.file(history_file_name)),
    rounds_path_(folder.file(rounds_file_name)),
    tensorboard_folder_(folder.file(tensorboard_folder_name)),
    event_path_(folder.file(event_file_name)),
    wants_tensorboard_(wants_tensorboard),
    earlier_(std::move(earlier)),
    version_(version),
    warn_(std::move(warn)) {}

void live_files::begin(const run_event& event) {
  history_.is_wanted = rounds_.is_wanted = events_.is_wanted = true;
  tensorboard_.is_wanted = wants_tensorboard_;
  add(event);
}

void live_files::add(const history_row& row) {
  const auto add_row = [&](auto& out) { out.add(row); };
  attempt(
    history_,
    [&](auto& out) { out.emplace(history_path_, earlier_.value_or(std::vector<history_row>{})); },
    add_row);
  attempt(
    tensorboard_, [&](auto& out) { out.emplace(tensorboard_folder_, earlier_); }, add_row);
  add({event_kind::row, row.steps, "epoch " + std::to_string(row.epoch) + " has a row"}, &row);
}

void live_files::add(const std::vector<round_record>& rounds) {
  if (!rounds.empty())
    attempt(
      rounds_, [&](auto& out) { out.emplace(rounds_path_, version_); },
      [&](auto& out) { out.add(rounds); });
}

void live_files::add(const run_event& event, const history_row* row) {
  const event_time now{std::chrono::steady_clock::now() - since_, std::chrono::system_clock::now()};
  attempt(
    events_, [&](auto& out) { out.emplace(event_path_); },
    [&](auto& out) { out.add(event, now, row); });
}

template <class Writer, class Make, class Put>
void live_files::attempt(growing<Writer>& file, const Make& make, const Put& put) {
  if (!file.is_wanted)
    return;
  try {
    if (!file.out)
      make(file.out);
    put(*file.out);
  } catch (const failure& error) {
    file.is_wanted = false;
    warn_("troupe: warning: " + std::string{error.what()} + '\n');
  }
}

} // namespace troupe
