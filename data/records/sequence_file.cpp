#include "data/records/sequence_file.hpp"

#include "data/disk/atomic_file.hpp"
#include "data/disk/open_file.hpp"
#include "data/text/failure.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace troupe {

namespace {

constexpr std::string_view first_line = "troupe sequence 1";
constexpr std::array<std::string_view, 8> decision_words{"begin", "give",  "take", "late",
                                                         "drop",  "close", "pass", "loss"};

bool has_number(decision_kind kind) {
  return kind != decision_kind::close && kind != decision_kind::loss;
}

template <class Number>
void add_number(std::string& out, Number value) {
  std::array<char, 32> digits{};
  out += ' ';
  out.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

std::string line_of_decision(const recorded_decision& x) {
  std::string result{decision_words[static_cast<size_t>(x.kind)]};
  if (has_number(x.kind))
    add_number(result, x.number);
  if (x.kind == decision_kind::give)
    add_number(result, x.step);
  if (x.kind == decision_kind::take)
    add_number(result, x.scale);
  return result += '\n';
}

template <class Number>
bool take_number(std::string_view& rest, Number& out) {
  if (!rest.starts_with(' '))
    return false;
  const auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), out);
  if (error != std::errc{})
    return false;
  rest.remove_prefix(static_cast<size_t>(end - rest.data()));
  return true;
}

/// Nothing unless it is the line of a decision, to the letter.
std::optional<recorded_decision> decision_of(std::string_view line) {
  const auto word = line.substr(0, line.find(' '));
  const auto found = std::ranges::find(decision_words, word);
  if (found == decision_words.end())
    return std::nullopt;
  recorded_decision result;
  result.kind = static_cast<decision_kind>(found - decision_words.begin());
  auto rest = line.substr(word.size());
  if ((has_number(result.kind) && !take_number(rest, result.number)) ||
      (result.kind == decision_kind::give && !take_number(rest, result.step)) ||
      (result.kind == decision_kind::take && !take_number(rest, result.scale)) || !rest.empty() ||
      !(result.scale > 0 && result.scale <= 1))
    return std::nullopt;
  return result;
}

/// Which decisions may follow those before.
class decision_order {
public:
  /// Why this one may not come next; empty: it may.
  std::string_view problem(const recorded_decision& x) {
    using enum decision_kind;
    if (!std::exchange(has_begun_, true) && x.kind != begin)
      return "the record does not say where it begins";
    if (x.kind == begin) {
      open_.clear();
      return x.number == version_ ? "" : "a life of the run begins at another version";
    }
    if (x.kind == give)
      return open_.emplace(x.number, x.step).second ? "" : "the task was given before";
    if (x.kind == pass)
      return count(x.number);
    if (!has_number(x.kind))
      return "";
    const auto task = open_.extract(x.number);
    if (task.empty())
      return "no such task is open";
    return x.kind == drop ? "" : count(task.mapped());
  }

  uint64_t version() const { return version_; }
  bool is_quiet() const { return open_.empty(); }

private:
  /// The step is done, or left out: that makes a version.
  std::string_view count(uint64_t step) {
    if (step < all_done_below_ || !done_.insert(step).second)
      return "the step was done before";
    while (done_.erase(all_done_below_) > 0)
      ++all_done_below_;
    ++version_;
    return "";
  }

  std::map<uint64_t, uint64_t> open_; ///< tasks, and their steps
  std::set<uint64_t> done_;           ///< steps from the next one on
  uint64_t all_done_below_ = 0;
  uint64_t version_ = 0;
  bool has_begun_ = false;
};

} // namespace

recorded_sequence read_sequence(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  if (!file)
    throw reading_failure({"cannot read the record of the run's decisions", path, errno});
  const auto refuse = [&](size_t number, std::string_view what) {
    throw failure(failure_code::bad_data, std::string{what},
                  path + ": line " + std::to_string(number),
                  "the run cannot be repeated without its record");
  };
  recorded_sequence result;
  decision_order order;
  std::string line;
  for (size_t number = 1; std::getline(file, line) && !file.eof(); ++number) {
    if (number == 1) {
      if (line != first_line)
        refuse(1, "this is no record of a run's decisions");
      continue;
    }
    const auto decision = decision_of(line);
    if (!decision)
      refuse(number, "this is no decision");
    if (const auto problem = order.problem(*decision); !problem.empty())
      refuse(number, problem);
    result.push_back(*decision);
  }
  return result;
}

sequence_writer::sequence_writer(std::string path, uint64_t version) : path_(std::move(path)) {
  std::string kept{first_line};
  kept += '\n';
  if (version > 0) {
    decision_order order;
    auto all = read_sequence(path_);
    auto end = all.begin();
    for (auto next = all.begin(); next != all.end() && order.version() <= version;) {
      if (order.version() == version && next->kind == decision_kind::loss)
        break; // a checkpoint of the version is without it
      order.problem(*next++);
      if (order.version() == version && order.is_quiet())
        end = next;
    }
    if (end == all.begin())
      throw failure(
        failure_code::bad_data,
        "the record of the run's decisions does not reach step " + std::to_string(version), path_);
    for (auto next = all.begin(); next != end; ++next)
      kept += line_of_decision(*next);
  }
  kept += line_of_decision({decision_kind::begin, version});
  write_file_atomically(path_, kept);
  file_.open(path_, std::ios::binary | std::ios::app);
}

void sequence_writer::add(const recorded_decision& x) {
  file_ << line_of_decision(x);
}

void sequence_writer::flush() {
  file_ << std::flush;
  if (!file_)
    throw failure(failure_code::io_error, "cannot write the record of the run's decisions", path_,
                  "is the disk full?");
}

} // namespace troupe
