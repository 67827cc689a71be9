#include "troupe/app/compare/comparison.hpp"

#include "troupe/data/records/history_figures.hpp"
#include "troupe/data/run_folder/run_directory.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace troupe {

namespace {

// ---- What differs in the jobs ----

// Names and places of runs differ because they are several.
constexpr std::array<std::string_view, 3> names_of_runs{"job.name", "output.directory",
                                                        "checkpoint.directory"};

std::map<std::string, std::string> lines_by_key(std::string_view identity) {
  constexpr std::string_view is = " = ";
  std::map<std::string, std::string> result;
  while (!identity.empty()) {
    const auto line = identity.substr(0, identity.find('\n'));
    identity.remove_prefix(std::min(identity.size(), line.size() + 1));
    const auto key = line.substr(0, line.find(is));
    auto& value = result[std::string{key}];
    value += (value.empty() ? "" : "; ") +
             std::string{line.substr(std::min(line.size(), key.size() + is.size()))};
  }
  return result;
}

std::set<std::string> identity_keys_that_differ(std::span<const run_record> runs) {
  std::set<std::string> result;
  for (const auto& run : runs.subspan(1))
    for (const auto& key : keys_that_differ(runs.front().identity, run.identity))
      result.insert(key);
  return result;
}

// What a run that is not finished leaves unset may be decided at its start: that is no difference.
bool differs(std::span<const run_record> runs, size_t key) {
  std::set<std::optional<std::string>> values;
  for (const auto& run : runs)
    if (const auto& value = run.keys[key].second; value || run.summary)
      values.insert(value);
  return values.size() > 1;
}

std::vector<run_difference> differences_of_jobs(std::span<const run_record> runs) {
  auto of_identity = identity_keys_that_differ(runs);
  std::vector<run_difference> result;
  const auto& keys = runs.front().keys;
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto& name = keys[i].first;
    if (std::ranges::find(names_of_runs, name) != names_of_runs.end() || !differs(runs, i))
      continue;
    auto& found = result.emplace_back(run_difference{name, {}, of_identity.erase(name) > 0});
    for (const auto& run : runs)
      found.values.push_back(run.keys[i].second.value_or(""));
  }
  for (const auto& name : of_identity) { // such as the content of the data
    auto& found = result.emplace_back(run_difference{name, {}, true});
    for (const auto& run : runs)
      found.values.push_back(lines_by_key(run.identity)[name]);
  }
  return result;
}

template <class Value>
void add_circumstance(std::vector<run_difference>& out, std::span<const run_record> runs,
                      std::string name, bool changes_bits, const Value& value_of) {
  run_difference found{std::move(name), {}, changes_bits};
  for (const auto& run : runs)
    found.values.push_back(run.summary ? value_of(*run.summary) : "");
  std::set<std::string> values{found.values.begin(), found.values.end()};
  values.erase(""); // of runs that are not finished nothing is known
  if (values.size() > 1)
    out.push_back(std::move(found));
}

// ---- What differs in the bits ----

struct evidence_at {
  bits_evidence by = bits_evidence::figures;
  bool is_equal = true;
};

bool is_same(const std::optional<double>& a, const std::optional<double>& b) {
  return !a || !b || std::bit_cast<uint64_t>(*a) == std::bit_cast<uint64_t>(*b) ||
         (*a != *a && *b != *b);
}

// Means over the steps since the row before are of the same steps only where that is the same.
bool have_same_figures(const history_row& a, const history_row& b, bool since_same_row) {
  return std::ranges::all_of(common_figures(), [&](const history_figure& x) {
    const bool is_training = x.tag.ends_with("/train");
    return !x.more_is_better || (is_training && !since_same_row) || is_same(x.in(a), x.in(b));
  });
}

using evidences = std::multimap<uint64_t, evidence_at>;

evidence_at compare_rows(const history_row& a, const history_row& b, bool since_same_row) {
  if (!a.hash || !b.hash)
    return {bits_evidence::figures, have_same_figures(a, b, since_same_row)};
  if (a.hash->parameters != b.hash->parameters)
    return {bits_evidence::hash, false};
  return {a.hash->state == b.hash->state ? bits_evidence::hash : bits_evidence::state_hash,
          a.hash->state == b.hash->state};
}

void add_figures(evidences& out, const run_record& a, const run_record& b) {
  uint64_t before_a = 0, before_b = 0;
  auto next = b.history.begin();
  for (const auto& row : a.history) {
    while (next != b.history.end() && next->steps < row.steps)
      before_b = (next++)->steps;
    if (next != b.history.end() && next->steps == row.steps)
      out.insert({row.steps, compare_rows(row, *next, before_a == before_b)});
    before_a = row.steps;
  }
}

evidences evidences_of(const run_record& a, const run_record& b) {
  evidences result;
  add_figures(result, a, b);
  for (const auto& [version, digest] : a.digests)
    if (const auto other = b.digests.find(version); other != b.digests.end())
      result.insert({version, {bits_evidence::checkpoint, other->second == digest}});
  if (a.summary && b.summary && a.summary->steps == b.summary->steps)
    result.insert(
      {a.summary->steps,
       {bits_evidence::result, a.summary->parameters_sha256 == b.summary->parameters_sha256}});
  return result;
}

std::string listed(const std::vector<std::string>& words) {
  std::string result;
  for (const auto& word : words)
    result += (result.empty() ? "" : ", ") + word;
  return result;
}

std::string reason_for(const run_record& a, const run_record& b) {
  if (const auto keys = keys_that_differ(a.identity, b.identity); !keys.empty())
    return "the jobs differ in " + listed(keys);
  for (const auto* run : {&a, &b})
    if (run->summary && !run->summary->reproducible)
      return "this mode is not reproducible: what is applied depends on who comes first";
  if (!a.summary || !b.summary)
    return "the jobs are the same; the arithmetic is known once both runs are finished";
  if (a.summary->arithmetic != b.summary->arithmetic)
    return "the jobs are the same; the arithmetic differs (" + a.summary->arithmetic + " / " +
           b.summary->arithmetic + ")";
  return "nothing that may change bits differs: if both runs are of one version of Troupe this is "
         "a "
         "defect; please report both folders";
}

bits_finding compare_bits(const run_record& a, const run_record& b) {
  bits_finding result;
  const auto all = evidences_of(a, b);
  const auto first = std::ranges::find_if(all, [](const auto& x) { return !x.second.is_equal; });
  for (auto x = all.begin(); x != all.end() && (first == all.end() || x->first < first->first);
       ++x) {
    result.equal_until = x->first;
    result.evidence = x->second.by;
    result.state = bits_state::equal_so_far;
  }
  const auto is_result = [](const auto& x) { return x.second.by == bits_evidence::result; };
  if (first == all.end()) {
    if (std::ranges::any_of(all, is_result))
      result.state = bits_state::equal;
    return result;
  }
  result.state = bits_state::differ;
  result.differ_from = first->first;
  result.evidence = first->second.by;
  result.reason = reason_for(a, b);
  return result;
}

} // namespace

run_comparison compare_runs(std::span<const run_record> runs) {
  run_comparison result;
  result.differences = differences_of_jobs(runs);
  add_circumstance(result.differences, runs, "arithmetic", true,
                   [](const training_summary& x) { return x.arithmetic; });
  add_circumstance(result.differences, runs, "nodes", false,
                   [](const training_summary& x) { return std::to_string(x.nodes); });
  for (const auto& run : runs.subspan(1))
    result.bits.push_back(compare_bits(runs.front(), run));
  return result;
}

const history_row* row_of_result(const run_record& run) {
  const auto found = std::ranges::find_if(run.history, [&](const history_row& row) {
    return run.summary && row.steps == run.summary->steps;
  });
  if (found != run.history.end())
    return &*found;
  return run.history.empty() ? nullptr : &run.history.back();
}

} // namespace troupe
