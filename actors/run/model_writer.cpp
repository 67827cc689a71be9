#include "actors/run/model_writer.hpp"

#include "actors/run/job_data.hpp"
#include "coordinators/job/added_values.hpp"
#include "coordinators/job/resolve.hpp"
#include "data/disk/atomic_file.hpp"
#include "data/model_file/safetensors.hpp"
#include "data/table/column_plan.hpp"
#include "data/training_rows/prepare.hpp"
#include "models/kinds/model_kinds.hpp"

#include <nlohmann/json.hpp>

#include <bit>
#include <cstdio>
#include <span>

namespace troupe {

namespace {

std::string bits_of(std::span<const float> values) {
  std::string text;
  for (auto value : values) {
    char word[9];
    std::snprintf(word, sizeof word, "%08x", static_cast<unsigned>(std::bit_cast<uint32_t>(value)));
    text += (text.empty() ? "" : " ") + std::string{word};
  }
  return text;
}

std::string bits_of(double value) {
  char word[17];
  std::snprintf(word, sizeof word, "%016llx", std::bit_cast<unsigned long long>(value));
  return word;
}

// One name, or one for each hidden layer, separated by blanks.
std::string text_of(const activation_list& activation) {
  std::string text;
  for (auto kind : activation.kinds())
    text += (text.empty() ? "" : " ") + std::string{name_of(kind)};
  return text;
}

// As text: "4 outputs inputs none".
std::string text_of(size_t parts, const std::vector<layer_cut>& cuts) {
  auto text = std::to_string(parts);
  for (auto cut : cuts)
    text += " " + std::string{name_of(cut)};
  return text;
}

/// The loss and activations that the application adds, as JSON; empty when there are none.
std::string added_text(const job& resolved) {
  auto list = nlohmann::json::array();
  for (const auto& one : added_values_of(resolved))
    if (one.table == "loss" || (one.table == "activation" && !resolved.model.own.is_set()))
      list.push_back({{"table", one.table},
                      {"kind", one.kind->name},
                      {"version", one.kind->info.version},
                      {"options", nlohmann::json::parse(options_text(one.options))}});
  return list.empty() ? std::string{} : list.dump();
}

std::string names_of(const std::vector<std::string>& names) {
  // A name need not be UTF-8: other bytes become a replacement character.
  return nlohmann::json(names).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace

std::map<std::string, std::string> model_metadata(const training_result& result) {
  const auto& x = result.resolved.model;
  const auto& train = result.data->train;
  std::map<std::string, std::string> metadata{
    {"format", x.own.is_set() ? "troupe-model-2" : "troupe-model-1"},
    {"kind", kind_name(x)},
    {"loss", std::string{name_of(*x.loss)}},
    {"target", names_of(train.target_names)},
    {"job", nlohmann::json(result.summary.job)
              .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)},
    {"job_sha256", result.summary.job_sha256},
    {"steps", std::to_string(result.summary.steps)},
  };
  if (x.own.is_set()) {
    metadata["kind_version"] = std::to_string(models().at(x.own.kind).info.version);
    metadata["options"] = options_text(x.own);
  } else {
    metadata["activation"] = text_of(x.activation);
  }
  if (train.is_sparse())
    metadata["rows"] = "sparse";
  else
    metadata["features"] = names_of(train.feature_names);
  if (!train.columns.empty()) {
    metadata["format"] = "troupe-model-3";
    metadata["columns"] = text_of(train.columns);
  }
  if (const auto dialect = text_of(dialect_of(result.resolved.data.cells)); !dialect.empty())
    metadata["csv"] = dialect;
  const auto& data = result.resolved.data;
  if (data.header == csv_header::yes)
    metadata["header"] = "yes";
  if (data.index_base == 0)
    metadata["index_base"] = "0";
  if (data.format == file_format::text && data.synthetic == synthetic_kind::none)
    metadata["input"] = "text";
  if (!train.columns.fill.empty())
    metadata["feature_fill"] = bits_of(train.columns.fill);
  if (const auto bits = result.resolved.data.hash_bits)
    metadata["hash_bits"] = std::to_string(*bits);
  if (x.loss == loss_kind::binary_cross_entropy)
    metadata["link"] = name_of(x.link);
  for (const auto& [name, member, loss] : loss_numbers)
    if (x.loss == loss)
      metadata[std::string{name}] = bits_of(x.*member);
  if (x.cuts.value_or(1) > 1)
    metadata["cuts"] = text_of(*x.cuts, x.cut);
  const auto weights = class_weights_of(result.resolved, shape_of(*result.data));
  if (!weights.empty())
    metadata["class_weights"] = bits_of(weights);
  if (train.is_classification())
    metadata["classes"] = names_of(train.classes);
  if (result.threshold) {
    metadata["format"] = "troupe-model-4";
    metadata["threshold_class"] = std::to_string(result.threshold->label);
    metadata["threshold"] = bits_of(std::span{&result.threshold->probability, 1});
  }
  if (const auto& scale = result.data->scale; !scale.is_none()) {
    metadata["format"] = "troupe-model-4";
    metadata["target_scale"] = name_of(scale.kind);
    metadata["target_mean"] = bits_of(scale.mean);
    metadata["target_deviation"] = bits_of(scale.deviation);
  }
  if (const auto added = added_text(result.resolved); !added.empty()) {
    metadata["format"] = "troupe-model-5";
    metadata["added"] = added;
  }
  if (!result.data->features.empty()) {
    if (!train.is_sparse())
      metadata["feature_mean"] = bits_of(result.data->features.mean);
    metadata["feature_deviation"] = bits_of(result.data->features.deviation);
  }
  return metadata;
}

std::string write_model(const std::string& path, const training_result& result) {
  return write_safetensors(path, result.layout, result.parameters, model_metadata(result));
}

std::string write_model(atomic_file& file, const training_result& result) {
  return write_safetensors(file, result.layout, result.parameters, model_metadata(result));
}

uint64_t model_file_bytes(const parameter_layout& layout, const prepared_data& data) {
  constexpr uint64_t bytes_of_tensor = 256, bytes_of_name = 8, bytes_of_rest = 4096;
  constexpr uint64_t bytes_of_float = 9;                  // hexadecimal
  constexpr uint64_t bytes_of_scale = 2 * bytes_of_float; // mean and deviation
  uint64_t result = bytes_of_rest + layout.size() * sizeof(float);
  result += layout.tensors().size() * bytes_of_tensor;
  for (const auto* names :
       {&data.train.feature_names, &data.train.target_names, &data.train.classes})
    for (const auto& name : *names)
      result += 2 * name.size() + bytes_of_name;
  const auto& columns = data.train.columns;
  if (!columns.empty())
    result += 2 * text_of(columns).size() + columns.fill.size() * bytes_of_float;
  return result + data.features.deviation.size() * bytes_of_scale;
}

} // namespace troupe
