// Kinds that an application adds to a job's: a table of names, each with its version, its options and
// a factory. `kind = "wave"` in a job file finds the row of that name.
//
//   troupe::models().add<wave_options>("wave", {1, "a sum of sines"},
//                                      {troupe::option("harmonics", ...)}, &make_wave);
//
// The tables (model_kinds.hpp, optimizer_kinds.hpp) are the process's. Applications add kinds before
// the first job is read, by calls and never by static objects: a linker leaves out what is not called.
// Every process of a run must add the same ones. Kinds stay, so any thread may look them up.

#pragma once

#include "models/kinds/option.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeindex>
#include <utility>
#include <vector>

namespace troupe {

/// What is wrong with an option, or with the kind (`name` is empty).
struct option_problem {
  std::string name;
  std::string why;
  std::string hint;
};

struct kind_info {
  uint32_t version = 1; ///< raise it when the arithmetic changes: it is part of identities
  std::string meaning;  ///< one line for `troupe config keys`
  /// Of a kind whose options say more than their types do, as a text in a language of its own: returns
  /// what is wrong with complete options, else brings them to the one form that identities have.
  std::function<std::vector<option_problem>(component&)> settle = {};
  bool is_shared =
    false; ///< its models say how several actors compute one (models/network/model.hpp)
  bool more_is_better = true; ///< of a metric
};

/// A kind as seen from outside its factory.
struct kind_entry {
  std::string name;
  kind_info info;
  std::vector<option_info> options;

  const option_info* find(std::string_view option) const;
};

/// What is wrong with these options of the kind.
std::vector<option_problem> option_problems(const kind_entry& kind, const component& x);

/// `x` with every option of the kind, each of its own type. Throws std::invalid_argument where
/// `option_problems` finds some.
component completed(const kind_entry& kind, const component& x);

/// The lines of identities: "SECTION.kind = wave 2", then each option, as in "SECTION.wave.harmonics = 3".
std::string identity_lines(const std::string& section, const kind_entry& kind, const component& x);

/// Throws std::invalid_argument for a name that is none: small letters, digits and -, a letter first,
/// at most 64.
void require_kind_name(const std::string& what, const std::string& name);

/// `Thing` is what is made; `Input` is what a factory gets beside the options.
template <class Thing, class Input>
class kind_table {
public:
  /// `what`: of messages, "model". `built_in`: names that are taken. `fill` adds the first kinds.
  kind_table(std::string what, std::vector<std::string> built_in,
             void (*fill)(kind_table&) = nullptr)
    : what_(std::move(what)), built_in_(std::move(built_in)) {
    if (fill)
      fill(*this);
  }

  /// Adds a kind. Throws std::invalid_argument for a name that is none or in use, for version 0, and
  /// for two options of one name.
  template <class Options>
  void add(const std::string& name, kind_info info, std::vector<option_row<Options>> rows,
           std::type_identity_t<std::function<std::unique_ptr<Thing>(const Options&, const Input&)>>
             make) {
    require_kind_name(what_, name);
    if (info.version == 0)
      throw std::invalid_argument(what_ + " kind '" + name + "': versions begin with 1");
    row added{{name, std::move(info), {}}, typeid(Options), {}, {}};
    for (const auto& one : rows) {
      if (added.entry.find(one.info.name))
        throw std::invalid_argument(what_ + " kind '" + name + "': two options '" + one.info.name +
                                    "'");
      added.entry.options.push_back(one.info);
    }
    added.values = [rows](const void* options) {
      std::map<std::string, option_value> result;
      for (const auto& one : rows)
        result[one.info.name] = one.get(*static_cast<const Options*>(options));
      return result;
    };
    added.make = [rows = std::move(rows), make = std::move(make)](const component& x,
                                                                  const Input& input) {
      Options options;
      for (const auto& one : rows)
        one.set(options, x.options.at(one.info.name));
      return make(options, input);
    };
    const std::lock_guard lock{mutex_};
    if (std::ranges::find(built_in_, name) != built_in_.end() || rows_.contains(name))
      throw std::invalid_argument(what_ + " kind '" + name + "': the name is in use");
    order_.push_back(name);
    rows_.emplace(name, std::move(added));
  }

  /// Null when there is none; good for as long as the table is.
  const kind_entry* find(const std::string& name) const {
    const auto* found = find_row(name);
    return found ? &found->entry : nullptr;
  }

  /// `x` with every option of its kind, each of its own type. Throws std::invalid_argument where
  /// `problems` finds some.
  component complete(const component& x) const { return completed(row_of(x.kind).entry, x); }

  /// Throws std::invalid_argument when there is none.
  const kind_entry& at(const std::string& name) const { return row_of(name).entry; }

  /// The kind with these options, for a job: `job.model.own = models().of("wave", wave_options{..})`.
  /// Throws std::invalid_argument when there is no such kind, or its options are of another type.
  template <class Options>
  component of(const std::string& name, const Options& options) const {
    const auto& kind = row_of(name);
    if (kind.type != typeid(Options))
      throw std::invalid_argument(what_ + " kind '" + name + "': options of another type");
    return {name, kind.values(&options)};
  }

  /// Of the kinds that were added, in that order.
  std::vector<std::string> names() const {
    const std::lock_guard lock{mutex_};
    return order_;
  }

  /// What is wrong: that there is no such kind, or each option that is none.
  std::vector<option_problem> problems(const component& x) const {
    const auto* kind = find(x.kind);
    return kind ? option_problems(*kind, x) : std::vector{missing(x.kind)};
  }

  /// Throws std::invalid_argument where `problems` finds some.
  std::unique_ptr<Thing> make(const component& x, const Input& input) const {
    const auto& kind = row_of(x.kind);
    return kind.make(completed(kind.entry, x), input);
  }

private:
  struct row {
    kind_entry entry;
    std::type_index type; ///< of its options
    std::function<std::map<std::string, option_value>(const void* options)> values;
    std::function<std::unique_ptr<Thing>(const component&, const Input&)> make;
  };

  const row* find_row(const std::string& name) const {
    const std::lock_guard lock{mutex_};
    const auto found = rows_.find(name);
    return found == rows_.end() ? nullptr : &found->second;
  }

  const row& row_of(const std::string& name) const {
    if (const auto* found = find_row(name))
      return *found;
    throw std::invalid_argument(missing(name).why);
  }

  option_problem missing(const std::string& kind) const {
    std::string known;
    for (const auto& list : {built_in_, names()})
      for (const auto& name : list)
        known += (known.empty() ? "" : ", ") + name;
    return {{},
            "this program has no " + what_ + " of kind '" + kind + "'; it has " + known,
            "start the program that adds it"};
  }

  std::string what_;
  std::vector<std::string> built_in_;
  mutable std::mutex mutex_;
  std::vector<std::string> order_;
  std::map<std::string, row> rows_;
};

} // namespace troupe
