#include "troupe/app/cluster/node_rank.hpp"

#include "troupe/data/text/failure.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace troupe {

namespace {

constexpr const char* index_variable = "TROUPE_NODE_INDEX";
constexpr const char* hostname_variable = "TROUPE_NODE_FROM_HOSTNAME";
constexpr std::array launcher_variables{"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};

const std::string* find(const environment& variables, std::string_view name) {
  const auto found = std::ranges::find(variables, name, &environment::value_type::first);
  return found == variables.end() ? nullptr : &found->second;
}

std::optional<size_t> number_of(std::string_view text) {
  size_t result = 0;
  const auto* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, result);
  return error == std::errc{} && rest == end ? std::optional{result} : std::nullopt;
}

node_rank rank_in(const std::string& value, const std::string& variable) {
  if (const auto index = number_of(value))
    return {*index, variable};
  throw failure(failure_code::usage, "'" + value + "' is no number of a process", variable,
                "give it a whole number counted from 0, or name the node with --name");
}

// Of "troupe-2.troupe.default.svc" the 2.
node_rank rank_of_host(const std::string& host) {
  const auto machine = host.substr(0, host.find('.'));
  const auto dash = machine.rfind('-');
  if (dash != std::string::npos)
    if (const auto index = number_of(std::string_view{machine}.substr(dash + 1)))
      return {*index, hostname_variable};
  throw failure(failure_code::usage, "this machine, '" + host + "', is not called NAME-NUMBER",
                hostname_variable, "unset it, and name the node with --name");
}

bool is_yes(const std::string* value) {
  return value && !value->empty() && *value != "0";
}

} // namespace

std::optional<node_rank> find_rank(const environment& variables, const std::string& host) {
  if (const auto* value = find(variables, index_variable))
    return rank_in(*value, index_variable);
  if (is_yes(find(variables, hostname_variable)))
    return rank_of_host(host);
  for (const auto* name : launcher_variables)
    if (const auto* value = find(variables, name))
      return rank_in(*value, name);
  return std::nullopt;
}

} // namespace troupe
