#include "troupe/app/sweep/sweep_trials.hpp"

#include "troupe/data/text/failure.hpp"
#include "troupe/models/base/random.hpp"
#include "troupe/models/math/elementary.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

namespace troupe {

namespace {

/// Beyond all purposes of training, which are a part of its results.
constexpr auto purpose_of_searches = random_purpose{0x7377'6565};

struct key_and_rest {
  std::string key;
  std::string rest;
};

[[noreturn]] void refuse(const std::string& option, const std::string& text,
                         const std::string& why) {
  throw failure(failure_code::usage, option + ' ' + text + ": " + why, {},
                option == "--grid" ? "as --grid optimizer.learning_rate=0.1,0.01"
                                   : "as --random optimizer.learning_rate=1e-4..1e-1:log:8");
}

key_and_rest split_key(const std::string& option, const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    refuse(option, text, "expected KEY=VALUES");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

// At commas, but for those within brackets, braces and quotation marks.
std::vector<std::string> split_values(const std::string& option, const std::string& text,
                                      const std::string& values) {
  std::vector<std::string> result{""};
  int depth = 0;
  char quote = 0;
  for (const char x : values) {
    if (quote != 0)
      quote = x == quote ? '\0' : quote;
    else if (x == '"' || x == '\'')
      quote = x;
    else if (x == '[' || x == '{')
      ++depth;
    else if (x == ']' || x == '}')
      --depth;
    if (x == ',' && depth == 0 && quote == 0)
      result.emplace_back();
    else
      result.back() += x;
  }
  if (std::ranges::any_of(result, &std::string::empty))
    refuse(option, text, "a value is empty");
  return result;
}

template <class T>
std::optional<T> number_in(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional{value}
                                                                  : std::nullopt;
}

std::string shortest(double x) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), x).ptr;
  return {text.data(), end};
}

/// What is drawn for one key.
struct draws {
  std::string key;
  double low = 0;
  double high = 0;
  bool is_whole = false;
  bool is_log = false;
  uint64_t count = 0;
};

draws read_draws(const std::string& text) {
  auto [key, rest] = split_key("--random", text);
  const auto refuse_it = [&](const std::string& why) { refuse("--random", text, why); };
  draws result;
  result.key = key;
  const auto colon = rest.rfind(':');
  const auto count = colon == std::string::npos
                       ? std::nullopt
                       : number_in<uint64_t>(std::string_view{rest}.substr(colon + 1));
  if (!count || *count == 0 || *count > trials_max)
    refuse_it("expected LOW..HIGH:COUNT, with 1 to " + std::to_string(trials_max) + " draws");
  result.count = *count;
  auto range = rest.substr(0, colon);
  if (range.ends_with(":log")) {
    result.is_log = true;
    range.resize(range.size() - 4);
  }
  const auto dots = range.find("..");
  const auto low_text = std::string_view{range}.substr(0, dots);
  const auto high_text =
    dots == std::string::npos ? std::string_view{} : std::string_view{range}.substr(dots + 2);
  const auto low = number_in<double>(low_text);
  const auto high = number_in<double>(high_text);
  if (!low || !high || !std::isfinite(*low) || !std::isfinite(*high) || *low >= *high)
    refuse_it("expected two numbers LOW..HIGH, the lower one first");
  if (result.is_log && *low <= 0)
    refuse_it("a logarithmic range is above zero");
  result.low = *low;
  result.high = *high;
  result.is_whole = number_in<int64_t>(low_text) && number_in<int64_t>(high_text);
  return result;
}

/// FNV-1a: a key's draws do not depend on the other keys.
uint64_t number_of(const std::string& key) {
  uint64_t result = 0xcbf29ce484222325;
  for (const unsigned char x : key)
    result = (result ^ x) * 0x100000001b3;
  return result;
}

std::string drawn(const draws& x, uint64_t seed, uint64_t draw) {
  word_reader words{{seed, purpose_of_searches, number_of(x.key)}, draw};
  const double unit = words.unit();
  const double top = x.is_whole ? x.high + 1 : x.high;
  const double low = x.is_log ? elementary::log(x.low) : x.low;
  const double drawn = low + unit * ((x.is_log ? elementary::log(top) : top) - low);
  const double value = x.is_log ? elementary::exp_double(drawn) : drawn;
  if (x.is_whole)
    return std::to_string(static_cast<int64_t>(std::min(std::floor(value), x.high)));
  return shortest(value);
}

} // namespace

std::vector<trial_values> sweep_trials(const std::vector<std::string>& grids,
                                       const std::vector<std::string>& randoms, uint64_t seed) {
  std::vector<trial_values> result{{}};
  for (const auto& text : grids) {
    const auto [key, rest] = split_key("--grid", text);
    const auto values = split_values("--grid", text, rest);
    std::vector<trial_values> longer;
    for (const auto& before : result)
      for (const auto& value : values) {
        longer.push_back(before);
        longer.back().emplace_back(key, value);
        if (longer.size() > trials_max)
          refuse("--grid", text, "that is more than " + std::to_string(trials_max) + " trials");
      }
    result = std::move(longer);
  }
  std::vector<draws> all;
  for (const auto& text : randoms) {
    all.push_back(read_draws(text));
    if (all.back().count != all.front().count)
      refuse("--random", text,
             "all keys are drawn together, " + all.front().key + ' ' +
               std::to_string(all.front().count) + " times");
  }
  if (all.empty())
    return result;
  if (result.size() * all.front().count > trials_max)
    refuse("--random", randoms.front(),
           "that is more than " + std::to_string(trials_max) + " trials");
  std::vector<trial_values> longer;
  for (const auto& before : result)
    for (uint64_t draw = 0; draw < all.front().count; ++draw) {
      longer.push_back(before);
      for (const auto& one : all)
        longer.back().emplace_back(one.key, drawn(one, seed, draw));
    }
  return longer;
}

} // namespace troupe
