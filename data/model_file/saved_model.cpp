#include "data/model_file/saved_model.hpp"

#include "data/formats/libsvm/libsvm.hpp"
#include "data/formats/text/read_text.hpp"
#include "data/model_file/model_source.hpp"
#include "data/table/column_plan.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"
#include "models/base/names.hpp"
#include "models/kinds/added_tables.hpp"
#include "models/kinds/model_kinds.hpp"
#include "models/network/neural_network.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace troupe {

namespace {

/// What a reader must not pass over raises the number: 2, a kind that an application adds; 3, a plan for
/// columns; 4, a scale of targets or a threshold; 5, a loss or an activation that an application adds.
constexpr std::array<std::string_view, 5> format_names{
  "troupe-model-1", "troupe-model-2", "troupe-model-3", "troupe-model-4", "troupe-model-5"};

loss_kind loss_kind_of(const model_source& source) {
  return source.value(losses(), "loss", source.text("loss"));
}

// ---- Builders: from metadata and shapes to a model

/// Units of each dense layer from the weights' shapes; the first number is the features'.
std::vector<size_t> layer_sizes(const model_source& source) {
  std::vector<size_t> sizes;
  for (size_t i = 0;; ++i) {
    const auto name = "layers." + std::to_string(i) + ".weight";
    const auto* weight = source.file.layout.find(name);
    if (!weight && i == 0)
      source.refuse("there is no tensor '" + name + "'");
    if (!weight)
      return sizes;
    if (weight->shape.size() != 2)
      source.refuse("tensor '" + name + "' has " + std::to_string(weight->shape.size()) +
                    " extents instead of 2");
    if (i == 0)
      sizes.push_back(weight->shape[1]);
    if (weight->shape[1] != sizes.back())
      source.refuse("tensor '" + name + "' takes " + std::to_string(weight->shape[1]) +
                    " inputs, the layer before it has " + std::to_string(sizes.back()) +
                    " outputs");
    sizes.push_back(weight->shape[0]);
  }
}

/// One kind, or one for each hidden layer, separated by blanks.
activation_list activations_of(const model_source& source, size_t hidden_count) {
  std::istringstream words{source.text("activation")};
  std::vector<activation_kind> result;
  for (std::string word; words >> word;) {
    result.push_back(source.value(activations(), "activation", word));
  }
  if (result.size() != 1 && result.size() != hidden_count)
    source.refuse("the metadata's 'activation' names " + std::to_string(result.size()) +
                  ", the model has " + std::to_string(hidden_count) + " hidden layers");
  return result;
}

target_scale scale_of(const model_source& source, loss_kind loss, size_t targets) {
  target_scale result{source.choice<target_scale_kind>("target_scale"),
                      source.floats("target_mean", targets, "targets"),
                      source.floats("target_deviation", targets, "targets")};
  if (!takes_target_scale(loss))
    source.refuse("the metadata have a 'target_scale', but " + std::string{name_of(loss)} +
                  " takes none");
  if (!std::ranges::all_of(result.deviation, [](float value) { return value > 0; }))
    source.refuse("the metadata's 'target_deviation' holds a number that is not above 0");
  return result;
}

/// The loss with its constants. Files of earlier releases lack some: those are the usual ones.
loss_options loss_of(const model_source& source, size_t outputs) {
  loss_options result = loss_kind_of(source);
  result.link = source.find("link") ? source.choice<link_kind>("link") : result.link;
  for (const auto& [name, member, loss] : loss_numbers)
    if (const std::string key{name}; source.find(key))
      result.*member = source.positive(key);
  if (source.find("target_scale"))
    result.scale = scale_of(source, result.kind, outputs);
  if (!source.find("class_weights"))
    return result;
  if (!is_classification(result.kind))
    source.refuse("the metadata have 'class_weights', but the loss is one for numbers");
  result.class_weights =
    source.floats("class_weights", is_binary(result.kind) ? 2 : outputs, "classes");
  if (std::ranges::any_of(result.class_weights, [](float weight) { return weight < 0; }))
    source.refuse("the metadata's 'class_weights' holds a number below 0");
  return result;
}

/// In how many parts and how the layers are cut, as in "4 outputs inputs none".
void read_cuts(const model_source& source, neural_network_options& options) {
  if (!source.find("cuts"))
    return;
  std::istringstream words{source.text("cuts")};
  words >> options.parts;
  bool known = true;
  for (std::string word; words >> word;) {
    const auto cut = from_name<layer_cut>(word);
    known = known && cut;
    options.cuts.push_back(cut.value_or(layer_cut::none));
  }
  if (!known || options.parts < 1 || options.parts > part_count_max ||
      !cut_problem(options.cuts, options.hidden.size() + 1).empty() ||
      (is_binary(options.loss.kind) && options.cuts.back() == layer_cut::outputs) ||
      (options.sparse && options.cuts.front() != layer_cut::none))
    source.refuse("the metadata's 'cuts' is " + shown_text(source.text("cuts")) +
                  ", which does not cut the model's " + std::to_string(options.hidden.size() + 1) +
                  " layers");
}

/// Whether the model was trained on sparse rows.
bool is_sparse(const model_source& source) {
  if (!source.find("rows"))
    return false;
  if (source.text("rows") != "sparse")
    source.refuse("the metadata's 'rows' is " + shown_text(source.text("rows")) + ", not 'sparse'");
  return true;
}

size_t hash_bits_of(const model_source& source, size_t features) {
  if (!source.find("hash_bits"))
    return 0;
  const auto& word = source.text("hash_bits");
  size_t bits = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), bits);
  if (error != std::errc{} || end != word.data() + word.size() || bits < hash_bits_min ||
      bits > hash_bits_max || features != size_t{1} << bits)
    source.refuse("the metadata's 'hash_bits' is " + shown_text(word) + " for a model of " +
                  std::to_string(features) + " features");
  return bits;
}

std::unique_ptr<const model> build_network(const model_source& source) {
  const auto sizes = layer_sizes(source);
  neural_network_options options;
  options.features = sizes.front();
  options.outputs = sizes.back();
  options.hidden.assign(sizes.begin() + 1, sizes.end() - 1);
  options.activation = activations_of(source, options.hidden.size());
  options.loss = loss_of(source, options.outputs);
  options.bias = source.file.layout.find("layers.0.bias") != nullptr;
  options.sparse = is_sparse(source);
  read_cuts(source, options);
  return std::make_unique<neural_network>(options);
}

std::unique_ptr<const model> build_regression(const model_source& source) {
  if (layer_sizes(source).size() != 2)
    source.refuse("a " + source.text("kind") + " has one layer, this file has more");
  return build_network(source);
}

std::unique_ptr<const model> build_own(const model_source& source) {
  const auto& name = source.text("kind");
  const auto own = source.own_kind(models().find(name), "a model", name,
                                   source.text("kind_version"), source.text("options"));
  const auto kind = loss_kind_of(source);
  const auto outputs =
    is_binary(kind) ? 1 : source.names(is_classification(kind) ? "classes" : "target").size();
  const auto features = source.names("features").size();
  if (features == 0 || outputs == 0)
    source.refuse("the metadata name no features, or no target");
  return make_own_model(own, {features, outputs, loss_of(source, outputs)});
}

struct model_builder {
  std::string_view kind;
  std::unique_ptr<const model> (*build)(const model_source&);
};

constexpr model_builder builders[] = {{"softmax-regression", build_regression},
                                      {"linear-regression", build_regression},
                                      {"logistic-regression", build_regression},
                                      {"neural-network", build_network}};

std::unique_ptr<const model> build(const model_source& source) {
  const auto& kind = source.text("kind");
  std::string known;
  for (const auto& builder : builders) {
    if (builder.kind == kind)
      return builder.build(source);
    known += (known.empty() ? "" : ", ") + std::string{builder.kind};
  }
  source.refuse("the metadata's 'kind' is " + shown_text(kind) + ", which is none of: " + known);
}

std::string shape_text(const std::vector<size_t>& shape) {
  std::string result;
  for (auto extent : shape)
    result += (result.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + result + "]";
}

void require_layout(const model_source& source, const parameter_layout& expected) {
  const auto& found = source.file.layout.tensors();
  for (size_t i = 0; i < expected.tensors().size(); ++i) {
    const auto& tensor = expected.tensors()[i];
    const auto* other = source.file.layout.find(tensor.name);
    if (!other)
      source.refuse("there is no tensor '" + tensor.name + "'");
    if (other->shape != tensor.shape)
      source.refuse("tensor '" + tensor.name + "' has the shape " + shape_text(other->shape) +
                    " instead of " + shape_text(tensor.shape));
    if (found[i].name != tensor.name)
      source.refuse("tensor '" + tensor.name + "' is not where the model has it");
  }
  if (found.size() > expected.tensors().size())
    source.refuse("tensor " + shown_text(found[expected.tensors().size()].name) +
                  " is no part of the model");
}

void require_count(const model_source& source, const std::string& key, size_t count,
                   size_t expected, const std::string& of) {
  if (count != expected)
    source.refuse("the metadata's '" + key + "' names " + std::to_string(count) +
                  ", the model has " + std::to_string(expected) + " " + of);
}

void read_names(const model_source& source, saved_model& out) {
  if (!is_sparse(source)) {
    out.feature_names = source.names("features");
    require_count(source, "features", out.feature_names.size(), out.network->feature_count(),
                  "features");
  }
  out.target_names = source.names("target");
  const auto outputs = out.network->output_count();
  if (!is_classification(out.network->loss())) {
    if (source.find("classes"))
      source.refuse("the metadata have 'classes', but the loss is one for numbers");
    return require_count(source, "target", out.target_names.size(), outputs, "outputs");
  }
  require_count(source, "target", out.target_names.size(), 1, "target");
  out.classes = source.names("classes");
  // A model of two classes may have one output: the probability of the second.
  require_count(source, "classes", out.classes.size(), outputs == 1 ? 2 : outputs, "classes");
}

void read_standardization(const model_source& source, saved_model& out) {
  if (!source.find("feature_mean") && !source.find("feature_deviation"))
    return;
  const auto count = out.network->feature_count();
  if (!is_sparse(source))
    out.features.mean = source.floats("feature_mean", count, "features");
  out.features.deviation = source.floats("feature_deviation", count, "features");
  const auto positive = [](float value) { return value > 0; };
  if (!std::ranges::all_of(out.features.deviation, positive))
    source.refuse("the metadata's 'feature_deviation' holds a number that is not above 0");
}

/// After the names of classes.
std::optional<decision_threshold> threshold_of(const model_source& source, size_t class_count) {
  if (!source.find("threshold"))
    return std::nullopt;
  const auto& label = source.text("threshold_class");
  if (class_count != 2 || (label != "0" && label != "1"))
    source.refuse("the metadata's 'threshold_class' is " + shown_text(label) +
                  ", none of two classes");
  return decision_threshold{label == "1" ? size_t{1} : size_t{0},
                            source.floats("threshold", 1, "threshold").front()};
}

/// Whether features are characters.
bool reads_text(const model_source& source, const std::vector<std::string>& classes) {
  if (!source.find("input"))
    return false;
  if (source.text("input") != "text" || classes.empty() || !are_characters(classes))
    source.refuse("the metadata's 'input' is no text, or 'classes' are not its characters");
  return true;
}

/// After the names of features, which are to be those of the plan.
void read_columns(const model_source& source, saved_model& out) {
  auto plan = plan_of(source.text("columns"));
  if (!plan || feature_names_of(*plan) != out.feature_names)
    source.refuse("the metadata's 'columns' are no plan that makes the model's features");
  out.columns = std::move(*plan);
  if (out.columns.missing == missing_rule::mean)
    out.columns.fill = source.floats("feature_fill", out.network->feature_count(), "features");
}

void require_format(const model_source& source) {
  const auto& format = source.text("format");
  if (std::ranges::find(format_names, format) == format_names.end())
    source.refuse("the metadata's 'format' is " + shown_text(format) + " instead of '" +
                  std::string{format_names.front()} + "' to '" + std::string{format_names.back()} +
                  "'");
}

} // namespace

saved_model read_model(const std::string& path) {
  return to_saved_model(read_safetensors(path), path);
}

saved_model to_saved_model(safetensors_file&& file, const std::string& path) {
  const model_source source{path, file};
  saved_model result;
  result.path = path;
  require_format(source);
  result.network = source.find("kind_version") ? build_own(source) : build(source);
  require_layout(source, result.network->layout());
  read_names(source, result);
  result.threshold = threshold_of(source, result.classes.size());
  if (source.find("columns"))
    read_columns(source, result);
  if (const auto* text = source.find("csv")) {
    const auto dialect = dialect_of(*text);
    if (!dialect)
      source.refuse("the metadata's 'csv' is " + shown_text(*text));
    result.dialect = *dialect;
  }
  result.has_header = source.find("header") != nullptr;
  if (const auto* base = source.find("index_base"))
    result.index_base = *base == "0" ? 0 : 1;
  read_standardization(source, result);
  result.reads_text = reads_text(source, result.classes);
  result.hash_bits = hash_bits_of(source, result.network->feature_count());
  const buffer values{file.values.size()};
  result.network->layout().to_working(file.values, values.values());
  result.parameters = values;
  result.data_sha256 = file.data_sha256;
  result.metadata = std::move(file.metadata);
  return result;
}

} // namespace troupe
