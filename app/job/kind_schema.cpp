#include "troupe/app/job/kind_schema.hpp"

#include "troupe/app/job/option_values.hpp"
#include "troupe/coordinators/job/kind_problems.hpp"
#include "troupe/models/kinds/metric_kinds.hpp"
#include "troupe/models/kinds/model_kinds.hpp"
#include "troupe/models/kinds/optimizer_kinds.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace troupe {

namespace {

using keys = std::vector<job_key>;

// ---- Kinds

constexpr auto own_kind_hint =
  "a kind that an application adds is known to its own program: start that one";

/// `access` gives what has a `kind` and an `own`.
template <class Enum, class Table, class Access>
job_key kind_key(const std::string& section, const std::string& meaning, const Table& table,
                 Access access) {
  auto key = choice_key<job, Enum>(
    {section + ".kind", meaning}, [access](auto& x) -> auto& { return access(x).kind; });
  auto names = detail::names_of<Enum>();
  const auto built_in = names.size();
  std::ranges::copy(table.names(), std::back_inserter(names));
  key.type = choices_text(names);
  key.set = [=](job& target, const toml_value& value, const std::string& path,
                std::vector<complaint>& complaints) {
    size_t index = 0;
    auto refused = read_choice(value, names, index);
    if (refused && refused->hint.empty() && value.as<std::string>())
      refused->hint = own_kind_hint;
    if (!detail::accepted(refused, value, path, complaints))
      return;
    auto& x = access(target);
    const bool is_own = index >= built_in;
    x.kind = is_own ? std::decay_t<decltype(x)>{}.kind : detail::values_of<Enum>()[index];
    x.own.kind = is_own ? names[index] : "";
  };
  key.get = [access](const job& x) -> std::optional<std::string> {
    return toml_text(std::string_view{kind_name(access(x))});
  };
  key.copy = [access](job& target, const job& from) {
    access(target).kind = access(from).kind;
    access(target).own.kind = access(from).own.kind;
  };
  return key;
}

constexpr auto model_of = [](auto& x) -> auto& {
  return x.model;
};
constexpr auto optimizer_of = [](auto& x) -> auto& {
  return x.optimizer;
};

// ---- Options

/// An option of the kinds that have one of this name.
struct shared_option {
  std::vector<std::pair<std::string, option_info>> kinds;

  bool takes(const option_value& value) const {
    return std::ranges::any_of(
      kinds, [&](const auto& kind) { return taken_value(kind.second, value).has_value(); });
  }

  /// "wave: 3; other: 4".
  template <class TextOf>
  std::string text(TextOf text_of) const {
    std::string result;
    for (const auto& [kind, info] : kinds)
      result += (result.empty() ? "" : "; ") + kind + ": " + text_of(info);
    return result;
  }

  std::string types() const {
    return kinds.size() == 1 ? type_text(kinds.front().second) : text(type_text);
  }
};

template <class Table>
shared_option option_of(const Table& table, const std::string& name) {
  shared_option result;
  for (const auto& kind : table.names())
    if (const auto* info = table.at(kind).find(name))
      result.kinds.emplace_back(kind, *info);
  return result;
}

template <class Access>
job_key option_key(const std::string& section, const std::string& name, const shared_option& option,
                   Access access) {
  job_key key;
  key.path = section + '.' + name;
  key.type = option.types();
  key.fallback = option.text([](const option_info& x) { return option_text(x.fallback); });
  key.meaning = option.text([](const option_info& x) { return x.meaning; });
  key.is_text = std::ranges::all_of(option.kinds, [](const auto& kind) {
    return std::holds_alternative<std::string>(kind.second.fallback);
  });
  key.set = [=](job& target, const toml_value& value, const std::string& path,
                std::vector<complaint>& complaints) {
    const auto read = option_value_of(value);
    if (read && option.takes(*read))
      access(target).own.options[name] = *read;
    else
      complaints.push_back(
        {path, value.at, "expected " + option.types() + ", got " + description(value),
         name == "layers" ? "or tables, [[model.layers]], each with a kind and its options" : ""});
  };
  key.get = [=](const job& x) -> std::optional<std::string> {
    const auto& own = access(x).own;
    const auto info =
      std::ranges::find(option.kinds, own.kind, &std::pair<std::string, option_info>::first);
    if (const auto given = own.options.find(name); given != own.options.end())
      return option_text(given->second);
    return info == option.kinds.end() ? std::nullopt
                                      : std::optional{option_text(info->second.fallback)};
  };
  key.copy = [=](job& target, const job& from) {
    const auto& given = access(from).own.options;
    if (const auto found = given.find(name); found != given.end())
      access(target).own.options[name] = found->second;
    else
      access(target).own.options.erase(name);
  };
  return key;
}

template <class Table, class Access>
void add_options(keys& out, const std::string& section, const Table& table, Access access,
                 const std::vector<std::string>& shared) {
  const auto begin = out.size();
  for (const auto& kind : table.names())
    for (const auto& info : table.at(kind).options) {
      const auto known = std::ranges::find(out, section + '.' + info.name, &job_key::path);
      const auto place = static_cast<size_t>(known - out.begin());
      if (place < begin && std::ranges::find(shared, info.name) == shared.end())
        throw std::invalid_argument(section + " kind '" + kind + "': '" + info.name +
                                    "' is a key of every job: give the option another name");
      if (known == out.end())
        out.push_back(option_key(section, info.name, option_of(table, info.name), access));
    }
}

} // namespace

job_key metrics_key() {
  const auto names = metrics().names();
  const auto set = [=](job& target, const toml_value& value, const std::string& path,
                       std::vector<complaint>& complaints) {
    const auto* list = value.as<toml_value::list>();
    std::vector<std::string> found;
    for (const auto& one : list ? *list : toml_value::list{value}) {
      size_t index = 0;
      auto refused = read_choice(one, names, index);
      const auto* name = one.as<std::string>();
      if (name && is_always_told(*name))
        refused->hint = *name + " is told of every job: leave it out";
      else if (refused && refused->hint.empty() && name)
        refused->hint = own_kind_hint;
      if (detail::accepted(refused, one, path, complaints))
        found.push_back(names[index]);
    }
    target.training.metrics = found;
  };
  return {"training.metrics",
          "list, each " + choices_text(names),
          {},
          "what is told of test and validation rows beside the loss",
          false,
          set,
          [](const job& x) -> std::optional<std::string> { return toml_text(x.training.metrics); },
          copier<job>([](auto& x) -> auto& { return x.training.metrics; })};
}

job_key model_kind_key() {
  return kind_key<model_kind>("model", "what is trained", models(), model_of);
}

job_key optimizer_kind_key() {
  return kind_key<optimizer_kind>("optimizer", "rule of the update", optimizers(), optimizer_of);
}

void add_own_model_keys(keys& out) {
  add_options(out, "model", models(), model_of, {});
}

void add_own_optimizer_keys(keys& out) {
  std::vector<std::string> constants;
  for (const auto& constant : optimizer_constants)
    constants.emplace_back(constant.key);
  add_options(out, "optimizer", optimizers(), optimizer_of, constants);
}

} // namespace troupe
