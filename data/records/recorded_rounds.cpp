#include "data/records/recorded_rounds.hpp"

#include "data/disk/atomic_file.hpp"
#include "data/disk/open_file.hpp"
#include "data/text/failure.hpp"
#include "data/text/json_value.hpp"

#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>

namespace troupe {

namespace {

using json = nlohmann::ordered_json;

/// Far more than a round has.
constexpr uint64_t groups_max = uint64_t{1} << 24;

std::string line_of_round(const recorded_round& x) {
  auto clients = json::array();
  for (const auto& one : x.clients)
    clients.push_back(
      {{"name", one.name}, {"group", one.group}, {"rows", one.rows}, {"update", one.update}});
  return json{{"round", x.round}, {"clients", clients}}.dump() + '\n';
}

recorded_round recorded_round_of(const std::string& line) {
  if (is_nested_too_deep(line))
    throw std::invalid_argument("nested too deep");
  const auto object = json::parse(line);
  recorded_round result;
  read_value_of(object.at("round"), result.round);
  for (const auto& one : object.at("clients").get_ref<const json::array_t&>()) {
    auto& client = result.clients.emplace_back();
    read_value_of(one.at("name"), client.name);
    read_value_of(one.at("group"), client.group);
    read_value_of(one.at("rows"), client.rows);
    read_value_of(one.at("update"), client.update);
  }
  std::set<std::string> names;
  for (const auto& one : result.clients)
    if (!names.insert(one.name).second || one.group >= groups_max)
      throw std::invalid_argument("a client twice, or a group that cannot be");
  if (!std::ranges::is_sorted(result.clients, {}, &recorded_client::group))
    throw std::invalid_argument("clients are not in order of groups");
  return result;
}

} // namespace

std::vector<recorded_round> read_recorded_rounds(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  if (!file)
    throw reading_failure({"cannot read the record of rounds", path, errno});
  std::vector<recorded_round> result;
  std::string line;
  for (size_t number = 1; std::getline(file, line) && !file.eof(); ++number) {
    const auto refuse = [&](const std::string& why) {
      throw failure(failure_code::bad_data, "this is no line of a record of rounds: " + why,
                    path + ": line " + std::to_string(number),
                    "the run cannot be repeated without its record");
    };
    try {
      auto next = recorded_round_of(line);
      if (next.round == 0 || next.round > result.size() + 1)
        refuse("round " + std::to_string(next.round) + " follows round " +
               std::to_string(result.size()));
      result.resize(next.round - 1);
      result.push_back(std::move(next));
    } catch (const json::exception& error) {
      refuse(error.what());
    } catch (const std::invalid_argument& error) {
      refuse(error.what());
    }
  }
  return result;
}

recorded_rounds_writer::recorded_rounds_writer(std::string path, uint64_t round)
  : path_(std::move(path)) {
  std::string kept;
  if (round > 0) {
    const auto before = read_recorded_rounds(path_);
    if (before.size() < round)
      throw failure(failure_code::bad_data,
                    "the record of rounds does not reach round " + std::to_string(round), path_,
                    "put back the file that belongs to the run, or begin anew");
    for (size_t i = 0; i < round; ++i)
      kept += line_of_round(before[i]);
  }
  write_file_atomically(path_, kept);
  file_ = open_file{::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC)};
  if (!file_)
    throw reading_failure({"cannot open the record of rounds", path_, errno});
}

void recorded_rounds_writer::add(const recorded_round& x) {
  const auto line = line_of_round(x);
  if (!write_all(file_, std::as_bytes(std::span{line})) || ::fsync(file_.number()) != 0)
    throw writing_failure({"cannot write the record of rounds", path_, errno},
                          {line.size(), bytes_available_in(folder_of(path_))});
}

} // namespace troupe
