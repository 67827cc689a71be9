// Kinds that an application adds to an enumeration of the library: losses, activations, schedules, merge rules,
// rules of results.
//
//   troupe::losses().add<tau>("quantile", {1, "pinball"}, {troupe::option("tau", &tau::value, ..)}, &make_quantile);
//   job.model.loss = troupe::losses().value({"quantile", {{"tau", 0.9}}});
//
// A kind with its options is a value of the enumeration, beyond the library's own: equal ones have equal values. The
// numbers are the process's: what leaves it has the name, the version and the options. The value stands for what was
// made of them, a struct of functions that several threads call at once.

#pragma once

#include "models/base/names.hpp"
#include "models/kinds/kind_table.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

struct no_input {};

/// Options of a kind that has none.
struct no_options {};

template <class Enum, class Made>
class added_kinds : public kind_table<Made, no_input> {
  using base = kind_table<Made, no_input>;

public:
  /// `is_whole`: whether what an application made has its functions.
  added_kinds(std::string what, bool (*is_whole)(const Made&))
    : base(what, own_names()), what_(std::move(what)), is_whole_(is_whole) {}

  /// Adds a kind whose options `make` gets, which is tried with the defaults at once. Throws std::invalid_argument as
  /// kind_table does, when a function is missing, and what `make` throws.
  template <class Options>
  void add(const std::string& name, kind_info info, std::vector<option_row<Options>> rows,
           std::type_identity_t<std::function<Made(const Options&)>> make) {
    require_whole(name, make(Options{}));
    base::template add<Options>(name, std::move(info), std::move(rows),
                                [make = std::move(make)](const Options& x, const no_input&) {
                                  return std::make_unique<Made>(make(x));
                                });
  }
  /// Adds a kind without options.
  void add(const std::string& name, kind_info info, const Made& made) {
    add<no_options>(name, std::move(info), {}, [made](const no_options&) { return made; });
  }

  /// The value of this kind with these options. Throws std::invalid_argument when there is no such kind, for options
  /// that are none, for a function that is missing, and for more than 4,096 values; what the kind's function throws.
  Enum value(const component& x) {
    auto whole = this->complete(x);
    if (const auto known = place_of(whole))
      return numbered(*known);
    auto made = this->make(whole, {}); // without the lock: it may ask for another value
    require_whole(x.kind, *made);
    const std::lock_guard lock{mutex_};
    for (size_t i = 0; i < known_.size(); ++i)
      if (known_[i]->what == whole)
        return numbered(i);
    const auto i = known_.size();
    if (i == places_.size())
      throw std::invalid_argument(
        what_ + ": a process has 4,096 kinds and options at most; start another one");
    known_.push_back(std::make_unique<row>(row{std::move(whole), std::move(made)}));
    places_[i] = known_.back().get();
    return numbered(i);
  }

  /// The value with those of these options that its kind has; one of the library's own stays. Throws likewise.
  Enum with(Enum x, const component& given) {
    if (!is_added(x))
      return x;
    auto changed = what(x);
    for (auto& [name, option] : changed.options)
      if (const auto found = given.options.find(name); found != given.options.end())
        option = found->second;
    return value(changed);
  }

  /// Of a value that is added: its kind with every option, and what was made. Throws std::invalid_argument for others.
  const component& what(Enum x) const { return row_of(x).what; }
  const Made& made(Enum x) const { return *row_of(x).made; }

  /// The values of the kinds without a word on options, behind the library's own.
  std::vector<Enum> values() {
    std::vector<Enum> result;
    for (const auto& [own, name] : name_table<Enum>::entries)
      result.push_back(own);
    for (const auto& name : this->names())
      result.push_back(value({name, {}}));
    return result;
  }

  // For name_of and from_name of the enumeration.

  std::string_view name(Enum x) const {
    return is_added(x) ? std::string_view{what(x).kind} : own_name(x);
  }
  std::optional<Enum> named(std::string_view name) {
    for (const auto& [own, known] : name_table<Enum>::entries)
      if (known == name)
        return own;
    return this->find(std::string{name}) ? std::optional{value({std::string{name}, {}})}
                                         : std::nullopt;
  }

private:
  struct row {
    component what;
    std::unique_ptr<const Made> made;
  };

  static std::vector<std::string> own_names() {
    std::vector<std::string> result;
    for (const auto& [own, name] : name_table<Enum>::entries)
      result.emplace_back(name);
    return result;
  }
  static std::string_view own_name(Enum x) {
    for (const auto& [own, name] : name_table<Enum>::entries)
      if (own == x)
        return name;
    return "?";
  }
  void require_whole(const std::string& name, const Made& made) const {
    if (!is_whole_(made))
      throw std::invalid_argument(what_ + " kind '" + name + "': it has no function; give it one");
  }
  std::optional<size_t> place_of(const component& whole) {
    const std::lock_guard lock{mutex_};
    for (size_t i = 0; i < known_.size(); ++i)
      if (known_[i]->what == whole)
        return i;
    return std::nullopt;
  }
  static Enum numbered(size_t place) { return static_cast<Enum>(first_added_value + place); }

  // Without a lock: losses and activations ask in each step.
  const row& row_of(Enum x) const {
    const auto place = static_cast<size_t>(static_cast<uint16_t>(x)) - first_added_value;
    const auto* found = is_added(x) && place < places_.size() ? places_[place].load() : nullptr;
    if (!found)
      throw std::invalid_argument(what_ + ": a value that stands for no kind");
    return *found;
  }

  std::string what_;
  bool (*is_whole_)(const Made&);
  std::mutex mutex_;
  std::vector<std::unique_ptr<row>> known_;
  std::array<std::atomic<const row*>, 4096> places_{};
};

} // namespace troupe
