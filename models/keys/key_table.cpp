#include "models/keys/key_table.hpp"

#include "models/keys/closest_name.hpp"

namespace troupe {

namespace {

constexpr std::array names{
  other_name{"lr", "optimizer.learning_rate"},
  other_name{"eta", "optimizer.learning_rate"},
  other_name{"rate", "optimizer.learning_rate"},
  other_name{"step_size", "optimizer.learning_rate"},
  other_name{"alpha", "", "is it optimizer.learning_rate, or optimizer.l2?"},
  other_name{"gamma", "optimizer.schedule.factor"},
  other_name{"scheduler", "optimizer.schedule.kind"},
  other_name{"lr_scheduler", "optimizer.schedule.kind"},
  other_name{"reduce_on_plateau", "optimizer.plateau.patience"},
  other_name{"solver", "optimizer.kind"},
  other_name{"penalty", "optimizer.l2"},
  other_name{"regularization", "optimizer.l2"},
  other_name{"reg_lambda", "optimizer.l2"},
  other_name{"batch", "training.batch_size"},
  other_name{"minibatch", "training.batch_size"},
  other_name{"n_epochs", "training.epochs"},
  other_name{"num_epochs", "training.epochs"},
  other_name{"max_epochs", "training.epochs"},
  other_name{"iterations", "training.steps"},
  other_name{"max_iter", "training.epochs"},
  other_name{"max_steps", "training.steps"},
  other_name{"early_stopping", "training.patience"},
  other_name{"n_iter_no_change", "training.patience"},
  other_name{"tol", "training.tolerance"},
  other_name{"min_delta", "training.tolerance"},
  other_name{"workers", "training.replicas"},
  other_name{"num_workers", "training.replicas"},
  other_name{"n_jobs", "training.replicas"},
  other_name{"nodes", "", "nodes stand in a cluster file, as [[node]] (docs/clusters.md)"},
  other_name{"metric", "training.metrics"},
  other_name{"shuffle", "", "rows are in another order each epoch, which follows from job.seed"},
  other_name{"device", "", "there are processors only: runtime.threads says how many"},
  other_name{"gpus", "", "there are processors only: runtime.threads says how many"},
  other_name{"cores", "runtime.threads"},
  other_name{"numerics", "", "leave it out: every processor gives the same bits"},
  other_name{"cpus", "runtime.threads"},
  other_name{"random_state", "job.seed"},
  other_name{"random_seed", "job.seed"},
  other_name{"layers", "model.hidden"},
  other_name{"hidden_layers", "model.hidden"},
  other_name{"hidden_layer_sizes", "model.hidden"},
  other_name{"hidden_size", "model.hidden"},
  other_name{"units", "model.hidden"},
  other_name{"neurons", "model.hidden"},
  other_name{"criterion", "model.loss"},
  other_name{"loss_function", "model.loss"},
  other_name{"activation_function", "model.activation"},
  other_name{"dropout_rate", "model.dropout"},
  other_name{"use_bias", "model.bias"},
  other_name{"fit_intercept", "model.bias"},
  other_name{"init", "model.initialization"},
  other_name{"val_split", "data.validation_fraction"},
  other_name{"validation_split", "data.validation_fraction"},
  other_name{"validation_size", "data.validation_fraction"},
  other_name{"test_split", "data.test_fraction"},
  other_name{"test_size", "data.test_fraction"},
  other_name{"drop_columns", "data.ignore"},
  other_name{"categorical_features", "data.categorical"},
  other_name{"categorical_columns", "data.categorical"},
  other_name{"one_hot", "data.categorical"},
  other_name{"parse_dates", "data.date"},
  other_name{"dayfirst", "data.date_order"},
  other_name{"date_format", "data.date_order"},
  other_name{"thousands", "data.amount"},
  other_name{"na_values", "data.missing_cells"},
  other_name{"null_values", "data.missing_cells"},
  other_name{"impute", "data.missing"},
  other_name{"sep", "data.separator"},
  other_name{"delimiter", "data.separator"},
  other_name{"skip_rows", "data.skip_lines"},
  other_name{"skiprows", "data.skip_lines"},
  other_name{"ignore_columns", "data.ignore"},
  other_name{"label", "data.target"},
  other_name{"label_column", "data.target"},
  other_name{"normalize", "data.standardize"},
  other_name{"scale", "data.standardize"},
  other_name{"path", "data.file"},
  other_name{"csv", "data.file"},
  other_name{"every", "checkpoint.every_steps"},
  other_name{"save_every", "checkpoint.every_steps"},
  other_name{"save_steps", "checkpoint.every_steps"},
  other_name{"o", "output.directory"},
  other_name{"output", "output.directory"},
  other_name{"out_dir", "output.directory"},
  other_name{"output_dir", "output.directory"},
  other_name{"save_dir", "output.directory"},
};

} // namespace

std::optional<other_name> other_name_of(std::string_view word) {
  const auto found = std::ranges::find(names, word, &other_name::word);
  return found == names.end() ? std::nullopt : std::optional{*found};
}

namespace {

std::string_view last_part(std::string_view path) {
  return path.substr(path.rfind('.') + 1); // npos + 1 is 0: the whole path
}

std::string section_of(const std::string& path) {
  const size_t dot = path.rfind('.');
  return dot == std::string::npos ? std::string{} : path.substr(0, dot + 1);
}

// The names directly below `section`, of keys and of sections.
std::vector<std::string> names_below(const std::string& section,
                                     const std::vector<std::string>& paths) {
  std::vector<std::string> result;
  for (const auto& path : paths) {
    if (!path.starts_with(section))
      continue;
    const auto below = std::string_view{path}.substr(section.size());
    const auto name = below.substr(0, below.find('.'));
    if (std::find(result.begin(), result.end(), name) == result.end())
      result.emplace_back(name);
  }
  return result;
}

} // namespace

std::optional<std::string> key_meant_by(const std::string& path,
                                        const std::vector<std::string>& paths) {
  const auto name = last_part(path);
  for (const auto& known : paths)
    if (last_part(known) == name)
      return known;
  if (const auto other = other_name_of(name);
      other && std::ranges::find(paths, other->key) != paths.end())
    return std::string{other->key};
  const std::string section = section_of(path);
  const auto below = names_below(section, paths);
  if (const auto near = closest_name(name, below); !near.empty())
    return section + std::string{near};
  std::vector<std::string> names;
  names.reserve(paths.size());
  for (const auto& known : paths)
    names.emplace_back(last_part(known));
  if (const auto near = closest_name(name, names); !near.empty())
    return paths[static_cast<size_t>(std::find(names.begin(), names.end(), near) - names.begin())];
  const auto near = closest_name(path, paths);
  return near.empty() ? std::nullopt : std::optional<std::string>{near};
}

complaint unknown_key(const std::string& outer, const std::string& path, source_position at,
                      const std::vector<std::string>& paths) {
  const auto other = other_name_of(last_part(path));
  if (other && !other->hint.empty())
    return {outer + path, at, "unknown key '" + outer + path + "'", std::string{other->hint}};
  const auto meant = key_meant_by(path, paths);
  return {outer + meant.value_or(path), at, "unknown key '" + outer + path + "'",
          meant ? "did you mean '" + outer + *meant + "'?"
                : "'troupe config keys' lists every key"};
}

} // namespace troupe
