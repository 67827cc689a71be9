#include "app/commands/commands.hpp"
#include "app/run/training_run.hpp"
#include "app/terminal/figures_text.hpp"
#include "app/terminal/output.hpp"
#include "data/model_file/saved_model.hpp"
#include "models/metrics/prediction_sums.hpp"
#include "models/network/neural_network.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace troupe {

namespace {

using json = nlohmann::ordered_json;

json tensor_object(const tensor_info& tensor, std::span<const float> parameters) {
  const auto figures = figures_of(parameters.subspan(tensor.offset, tensor.size));
  return {{"name", tensor.name},
          {"shape", tensor.shape},
          {"parameters", tensor.size},
          {"norm", figures.norm},
          {"minimum", figures.minimum},
          {"maximum", figures.maximum},
          {"not_finite", figures.not_finite_count}};
}

// Tensors of one layer share their name up to the last point.
json layer_object(const tensor_info& tensor) {
  return {{"name", tensor.name.substr(0, tensor.name.rfind('.'))},
          {"inputs", tensor.shape.back()},
          {"outputs", tensor.shape.front()},
          {"activation", nullptr},
          {"parameters", 0}};
}

json layers_of(const saved_model& model) {
  auto layers = json::array();
  const auto* const network = dynamic_cast<const neural_network*>(model.network.get());
  for (const auto& tensor : model.network->layout().tensors()) {
    const auto name = tensor.name.substr(0, tensor.name.rfind('.'));
    if (layers.empty() || layers.back()["name"] != name) {
      layers.push_back(layer_object(tensor));
      if (network != nullptr)
        layers.back()["activation"] =
          name_of(network->chain().layers().at(layers.size() - 1).activation);
    }
    auto& count = layers.back()["parameters"];
    count = count.get<size_t>() + tensor.size;
  }
  return layers;
}

json object_of(const saved_model& model) {
  const auto& layout = model.network->layout();
  const auto kind = model.metadata.find("kind");
  json object{{"model_file", model.path},
              {"kind", kind == model.metadata.end() ? json(nullptr) : json(kind->second)},
              {"loss", name_of(model.network->loss())},
              {"parameters", layout.size()},
              {"parameters_sha256", model.data_sha256},
              {"layers", layers_of(model)},
              {"tensors", json::array()}};
  std::vector<float> storage;
  const auto values = layout.in_logical_order(model.parameters.values(), storage);
  for (const auto& tensor : layout.tensors())
    object["tensors"].push_back(tensor_object(tensor, values));
  object["features"] = model.feature_names;
  object["feature_count"] = model.network->feature_count();
  object["rows"] = model.network->chain().reads_sparse() ? "sparse" : "dense";
  object["target"] = model.target_names;
  object["classes"] = model.classes;
  object["feature_mean"] = model.features.mean;
  object["feature_deviation"] = model.features.deviation;
  object["metadata"] = model.metadata;
  return object;
}

std::string shape_text(const json& shape) {
  std::string result;
  for (const auto& extent : shape)
    result += (result.empty() ? "" : " x ") + extent.dump();
  return result;
}

std::string names_text(const json& names) {
  constexpr size_t shown_max = 12;
  std::string result;
  for (size_t i = 0; i < std::min(names.size(), shown_max); ++i)
    result += (i ? ", " : "") + class_text(names[i]);
  return names.size() > shown_max ? result + ", ... (" + std::to_string(names.size()) + ")"
                                  : result;
}

std::string heading(const json& object) {
  std::string result;
  const auto add = [&](std::string_view name, const std::string& value) {
    add_line(result, name, value);
  };
  add("kind", object["kind"].is_string() ? object["kind"].get<std::string>() : "-");
  add("loss", object["loss"]);
  add("features", object["rows"] == "sparse" ? object["feature_count"].dump() + ", of sparse rows"
                                             : names_text(object["features"]));
  add("target", names_text(object["target"]));
  if (!object["classes"].empty())
    add("classes", names_text(object["classes"]));
  add("standardised", object["feature_deviation"].empty() ? "no"
                      : object["rows"] == "sparse"        ? "scaled, not centred"
                                                          : "yes");
  add("parameters", object["parameters"].dump());
  add("parameters sha256", object["parameters_sha256"]);
  return result;
}

std::string tables(const json& object) {
  text_table layers{1, {"layer", "inputs", "outputs", "activation", "parameters"}};
  for (const auto& x : object["layers"])
    layers.add({x["name"], x["inputs"].dump(), x["outputs"].dump(),
                x["activation"].is_string() ? x["activation"].get<std::string>() : "-",
                x["parameters"].dump()});
  text_table tensors{1, {"tensor", "shape", "norm", "minimum", "maximum", "not finite"}};
  for (const auto& x : object["tensors"])
    tensors.add({x["name"], shape_text(x["shape"]), figure_text(x["norm"]),
                 figure_text(x["minimum"]), figure_text(x["maximum"]), x["not_finite"].dump()});
  return '\n' + layers.text() + '\n' + tensors.text();
}

// Short texts only: names and standardisation are above, and lists fill a screen.
std::string metadata_text(const json& object) {
  constexpr size_t bytes_max = 80;
  std::string result;
  for (const auto& [name, value] : object["metadata"].items())
    if (const auto text = value.get<std::string>(); text.size() <= bytes_max)
      result += "  " + name + " = " + text + '\n';
  return "\nmetadata\n" + result;
}

} // namespace

int inspect_command(const std::string& model_file, bool json_wanted) {
  return with_failure_object(json_wanted, [&] {
    const auto object = object_of(read_model(model_file));
    print_result(json_wanted ? one_line(object)
                             : heading(object) + tables(object) + metadata_text(object));
    return 0;
  });
}

} // namespace troupe
