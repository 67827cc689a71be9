#include "models/kinds/optimizer_kinds.hpp"

namespace troupe {

optimizer_table& optimizers() {
  static optimizer_table table = [] {
    std::vector<std::string> names;
    for (const auto& [kind, name] : name_table<optimizer_kind>::entries)
      names.emplace_back(name);
    return optimizer_table{"optimizer", names};
  }();
  return table;
}

component own_of(const optimizer_options& x) {
  auto result = x.own;
  const auto* kind = optimizers().find(result.kind);
  for (const auto& [key, member, of_rule] : optimizer_constants)
    if (kind && kind->find(key) && x.*member)
      result.options.try_emplace(std::string{key}, *(x.*member));
  return result;
}

optimizer_options with_kind_defaults(const optimizer_options& x) {
  auto result = with_defaults(x);
  if (!x.own.is_set())
    return result;
  result.own = optimizers().complete(own_of(x));
  for (const auto& [key, member, of_rule] : optimizer_constants)
    if (const auto found = result.own.options.find(std::string{key});
        found != result.own.options.end())
      if (const auto* value = std::get_if<double>(&found->second))
        result.*member = *value;
  return result;
}

std::unique_ptr<optimizer> make_own_optimizer(const optimizer_options& x) {
  auto result = optimizers().make(own_of(x), x);
  if (!result || result->options().learning_rate != with_defaults(x).learning_rate ||
      !(result->options().schedule == x.schedule))
    throw std::logic_error("the factory of optimizer kind '" + x.own.kind +
                           "' made no rule with the rate and schedule it was told");
  return result;
}

} // namespace troupe
