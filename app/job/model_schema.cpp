#include "troupe/app/job/model_schema.hpp"

#include "troupe/app/job/kind_schema.hpp"

namespace troupe {

namespace {

using keys = std::vector<job_key>;

/// A list of whole numbers within the bounds of the key.
template <class Access>
job_key counts_key(const key_texts& texts, const std::string& example, Access access) {
  const auto set = [=](job& target, const toml_value& value, const std::string& path,
                       std::vector<complaint>& complaints) {
    const auto* list = value.as<toml_value::list>();
    if (!list) {
      complaints.push_back(
        {path, value.at, "expected a list of integers, got " + description(value), example});
      return;
    }
    std::vector<size_t> counts;
    for (const auto& element : *list) {
      uint64_t count = 0;
      if (detail::accepted(read_whole(element, bounds_of(texts.path), count), element, path,
                           complaints))
        counts.push_back(count);
    }
    access(target) = counts;
  };
  return {texts.path,
          "list of integers, each " + bounds_text(bounds_of(texts.path)),
          texts.fallback,
          texts.meaning,
          false,
          set,
          [=](const job& x) -> std::optional<std::string> {
            if (access(x).empty() && !texts.fallback.empty())
              return std::nullopt;
            return toml_text(access(x));
          },
          copier<job>(access)};
}

template <class Enum>
std::optional<Enum> read_name(const toml_value& value, const std::string& path,
                              std::vector<complaint>& complaints) {
  size_t index = 0;
  if (!detail::accepted(read_choice(value, detail::names_of<Enum>(), index), value, path,
                        complaints))
    return std::nullopt;
  return name_table<Enum>::entries[index].first;
}

// One name, or a list with one for each hidden layer.
void set_activation(job& target, const toml_value& value, const std::string& path,
                    std::vector<complaint>& complaints) {
  const auto* list = value.as<toml_value::list>();
  if (!list) {
    if (const auto kind = read_name<activation_kind>(value, path, complaints))
      target.model.activation = *kind;
    return;
  }
  std::vector<activation_kind> kinds;
  for (const auto& element : *list)
    if (const auto kind = read_name<activation_kind>(element, path, complaints))
      kinds.push_back(*kind);
  if (list->empty())
    complaints.push_back({path, value.at, "expected a name or a list of them, got an empty list",
                          "write activation = \"relu\""});
  else if (kinds.size() == list->size())
    target.model.activation = kinds;
}

void set_cut(job& target, const toml_value& value, const std::string& path,
             std::vector<complaint>& complaints) {
  const auto* list = value.as<toml_value::list>();
  if (!list) {
    complaints.push_back({path, value.at, "expected a list of names, got " + description(value),
                          "write cut = [\"outputs\", \"inputs\", \"none\"], one for each layer"});
    return;
  }
  std::vector<layer_cut> cuts;
  for (const auto& element : *list)
    if (const auto cut = read_name<layer_cut>(element, path, complaints))
      cuts.push_back(*cut);
  if (cuts.size() == list->size())
    target.model.cut = cuts;
}

std::optional<std::string> cut_text(const job& x) {
  if (x.model.cut.empty())
    return std::nullopt;
  std::vector<std::string> names;
  for (auto cut : x.model.cut)
    names.emplace_back(name_of(cut));
  return toml_text(names);
}

job_key cut_key() {
  return {"model.cut",
          "list, each " + choices_text(detail::names_of<layer_cut>()),
          "what costs least",
          "how each layer is cut; outputs are followed by inputs, or by nothing",
          false,
          set_cut,
          cut_text,
          copier<job>([](auto& x) -> auto& { return x.model.cut; })};
}

std::optional<std::string> activation_text(const job& x) {
  std::vector<std::string> names;
  for (auto kind : x.model.activation.kinds())
    names.emplace_back(name_of(kind));
  return names.size() == 1 ? toml_text(std::string_view{names.front()}) : toml_text(names);
}

job_key activation_key() {
  return {"model.activation",
          choices_text(detail::names_of<activation_kind>()) + ", or a list of these",
          {},
          "neural-network: of the hidden layers, one for all or one for each",
          false,
          set_activation,
          activation_text,
          copier<job>([](auto& x) -> auto& { return x.model.activation; })};
}

// The name of a rule, or a list of numbers.
void set_class_weights(job& target, const toml_value& value, const std::string& path,
                       std::vector<complaint>& complaints) {
  const auto* list = value.as<toml_value::list>();
  if (!list) {
    size_t index = 0;
    if (detail::accepted(read_choice(value, {"none", "balanced"}, index), value, path, complaints))
      target.training.class_weights = {
        index == 0 ? class_weight_kind::none : class_weight_kind::balanced, {}};
    return;
  }
  std::vector<double> values;
  for (const auto& element : *list) {
    double weight = 0;
    if (detail::accepted(read_value(element, weight), element, path, complaints))
      values.push_back(weight);
  }
  target.training.class_weights = {class_weight_kind::list, values};
}

std::optional<std::string> class_weights_text(const job& x) {
  const auto& weights = x.training.class_weights;
  if (weights.kind == class_weight_kind::list)
    return toml_text(weights.values);
  const bool none = weights.kind == class_weight_kind::none;
  return toml_text(std::string_view{none ? "none" : "balanced"});
}

void add_loss_keys(keys& out) {
  out.push_back(choice_key<job, loss_kind>(
    {"model.loss", "what training makes small",
     "by kind; a network's categorical-cross-entropy for classes, squared for numbers"},
    [](auto& x) -> auto& { return x.model.loss; }));
  out.push_back(choice_key<job, link_kind>(
    {"model.link", "binary-cross-entropy: from score to probability"},
    [](auto& x) -> auto& { return x.model.link; }));
  out.push_back(plain_key<job, double>(
    {"model.huber_threshold", "huber: errors above it count linearly"}, "number > 0",
    [](auto& x) -> auto& { return x.model.huber_threshold; }));
}

} // namespace

void add_model_keys(keys& out) {
  out.push_back(model_kind_key());
  out.push_back(counts_key(
    {"model.hidden", "neural-network: units of each hidden layer"},
    "write hidden = [64] for one hidden layer of 64 units",
    [](auto& x) -> auto& { return x.model.hidden; }));
  out.push_back(activation_key());
  add_loss_keys(out);
  out.push_back(plain_key<job, bool>(
    {"model.bias", "false: no layer adds a bias"}, "true or false",
    [](auto& x) -> auto& { return x.model.bias; }));
  out.push_back(plain_key<job, double>(
    {"model.dropout", "share of hidden units silenced in each step of training"},
    "number in [0, 1)", [](auto& x) -> auto& { return x.model.dropout; }));
  out.push_back(whole_key<job>(
    {"model.cuts", "parts in which cut layers are computed, whoever computes them",
     "1, or for hidden layers of 1,024 units and more 2 to 8"},
    [](auto& x) -> auto& { return x.model.cuts; }));
  out.push_back(cut_key());
  out.push_back(choice_key<job, initialization_kind>(
    {"model.initialization", "of the weights; biases start at 0",
     "he if the first activation is relu or of its kin, else xavier"},
    [](auto& x) -> auto& { return x.model.initialization; }));
  out.push_back(plain_key<job, double>(
    {"model.initialization_scale", "uniform: the limit; normal: the deviation"}, "number > 0",
    [](auto& x) -> auto& { return x.model.initialization_scale; }));
  add_own_model_keys(out);
}

void add_parallel_keys(keys& out) {
  out.push_back(whole_key<job>(
    {"parallel.data", "groups with slices of their own: another name of training.replicas",
     "training.replicas"},
    [](auto& x) -> auto& { return x.parallel.data; }));
  out.push_back(whole_key<job>(
    {"parallel.tensor", "replicas that share the parts of each layer; never part of the result"},
    [](auto& x) -> auto& { return x.parallel.tensor; }));
  out.push_back(whole_key<job>(
    {"parallel.pipeline", "stages that the layers are spread over; never part of the result"},
    [](auto& x) -> auto& { return x.parallel.pipeline; }));
  out.push_back(choice_key<job, pipeline_schedule>(
    {"parallel.schedule", "of a pipeline: which slices go first, and how many are kept"},
    [](auto& x) -> auto& { return x.parallel.schedule; }));
  out.push_back(counts_key(
    {"parallel.stages", "segments of each stage", "balanced by their work"},
    "write stages = [2, 3] for two stages", [](auto& x) -> auto& { return x.parallel.stages; }));
  out.push_back(plain_key<job, bool>(
    {"parallel.sharded", "over nodes: replicas fetch parameters segment by segment and keep their "
                         "own spans alone; never "
                         "part of the result"},
    "true or false", [](auto& x) -> auto& { return x.parallel.sharded; }));
}

job_key class_weights_key() {
  return {"training.class_weights",
          "\"none\" | \"balanced\", or a list of numbers >= 0",
          {},
          "what a row of each class counts; balanced: rows / (classes * rows of the class)",
          false,
          set_class_weights,
          class_weights_text,
          copier<job>([](auto& x) -> auto& { return x.training.class_weights; })};
}

} // namespace troupe
