#include "data/checkpoint/checkpoint_layout.hpp"

#include "data/model_file/safetensors_header.hpp"
#include "data/records/history_file.hpp"
#include "data/text/failure.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <bit>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <type_traits>

namespace troupe {

namespace {

using nlohmann::json;

// What the record holds is said once, for writing and reading.

void visit_members(const auto& member, auto& x) {
  using kind = std::remove_cvref_t<decltype(x)>;
  if constexpr (std::is_same_v<kind, stop_rule_memory>) {
    member("best_loss", x.best_loss);
    member("best_version", x.best_version);
    member("waited", x.waited);
  } else if constexpr (std::is_same_v<kind, replica_work>) {
    member("steps_executed", x.steps_executed);
    member("sample_count", x.sample_count);
  } else if constexpr (std::is_same_v<kind, recovery_figures>) {
    each_recovery_figure(x, member);
  } else if constexpr (std::is_same_v<kind, batch_sums>) {
    member("loss_sum", x.loss_sum);
    member("sample_count", x.sample_count);
    member("correct_count", x.correct_count);
    member("squared_error_sum", x.squared_error_sum);
  } else {
    member("arithmetic", x.arithmetic);
    member("version", x.version);
    member("term", x.term);
    member("optimizer_numbers", x.optimizer_numbers);
    member("best_version", x.best_version);
    member("best_loss", x.best_loss);
    member("metrics", x.metrics);
    member("stop", x.stop);
    member("plateau", x.plateau);
    member("reductions", x.reductions);
    member("seconds", x.seconds);
    member("replicas", x.replicas);
    member("recovery", x.recovery);
  }
}

struct record_writer {
  static json value_of(uint64_t x) { return x; }
  static json value_of(const std::string& x) { return x; }
  static json value_of(double x) {
    return std::isfinite(x) ? json(x) : json(fmt::format("{:016x}", std::bit_cast<uint64_t>(x)));
  }

  template <class Item>
  static json value_of(const std::vector<Item>& items) {
    auto result = json::array();
    for (const auto& item : items)
      result.push_back(value_of(item));
    return result;
  }

  template <class Struct>
  static json value_of(const Struct& x) {
    json result;
    visit_members([&](const char* name, const auto& member) { result[name] = value_of(member); },
                  x);
    return result;
  }
};

/// All throw json::exception for a value of another type.
struct record_reader {
  static void read(const json& from, uint64_t& to) {
    to = from.get_ref<const json::number_unsigned_t&>();
  }
  static void read(const json& from, std::string& to) { from.get_to(to); }
  static void read(const json& from, double& to) {
    const auto digits = from.is_string() ? from.get<std::string>() : std::string{};
    const auto* end = digits.data() + digits.size();
    uint64_t bits = 0;
    if (std::from_chars(digits.data(), end, bits, 16).ptr == end && !digits.empty())
      to = std::bit_cast<double>(bits);
    else
      from.get_to(to); // which refuses other texts
  }

  template <class Item>
  static void read(const json& from, std::vector<Item>& to) {
    for (const auto& item : from.get_ref<const json::array_t&>())
      read(item, to.emplace_back());
  }

  template <class Struct>
  static void read(const json& from, Struct& to) {
    visit_members(
      [&](const char* name, auto& member) {
        // Files of earlier releases say nothing of recoveries, or less.
        constexpr bool is_newer = std::is_same_v<decltype(member), recovery_figures&> ||
                                  std::is_same_v<Struct, recovery_figures>;
        if (is_newer && !from.contains(name))
          return;
        read(from.at(name), member);
      },
      to);
  }
};

} // namespace

checkpoint_shape shape_of(const checkpoint& x) {
  const auto size = x.parameters.size();
  const auto require = [&](const stored_tensor& tensor, const char* what) {
    if (tensor.size() != size)
      throw std::invalid_argument("checkpoint: " + std::to_string(tensor.size()) + " values of " +
                                  what + " for " + std::to_string(size) + " parameters");
  };
  for (const auto& slot : x.slots)
    require(slot, "an optimizer slot");
  if (x.best_parameters)
    require(x.best_parameters, "the best parameters");
  return {size, x.slots.size(), static_cast<bool>(x.best_parameters)};
}

checkpoint_texts texts_of(const checkpoint& x) {
  return {x.job_sha256, record_writer::value_of(x).dump(), history_text(x.history)};
}

checkpoint head_of(const checkpoint_texts& texts, const std::string& path) {
  checkpoint result;
  result.job_sha256 = texts.job_sha256;
  try {
    record_reader::read(json::parse(texts.record), result);
  } catch (const json::exception& error) {
    throw failure(failure_code::bad_data, "tensor 'record': " + std::string{error.what()}, path,
                  "the file is damaged");
  }
  result.history = read_history(texts.history, path + ": history.csv");
  return result;
}

} // namespace troupe

namespace troupe::checkpoint_format {

namespace {

safetensors_header header_of(const checkpoint_shape& shape, const checkpoint_texts& texts) {
  const auto p = shape.parameter_count;
  safetensors_header result;
  result.metadata = {{"format", std::string{format_name}}, {"job_sha256", texts.job_sha256}};
  add_packed(result, "parameters", "F32", {p});
  if (shape.slot_count > 0)
    add_packed(result, "optimizer_slots", "F32", {shape.slot_count, p});
  if (shape.has_best_parameters)
    add_packed(result, "best_parameters", "F32", {p});
  add_packed(result, "chunk_checksums", "U8",
             {shape.tensor_count(), chunk_count_of_tensor(shape), sizeof(checksum_bytes)});
  add_packed(result, "record", "U8", {texts.record.size()});
  add_packed(result, "history.csv", "U8", {texts.history.size()});
  add_packed(result, "checksum", "U8", {sizeof(checksum_bytes)});
  return result;
}

} // namespace

uint64_t file_bytes(const checkpoint_shape& shape, const checkpoint_texts& texts) {
  return start_bytes + header_of(shape, texts).tensors.back().data_offsets[1];
}

std::string front_of(const checkpoint_shape& shape, const checkpoint_texts& texts) {
  return safetensors_front(header_of(shape, texts), start_bytes);
}

std::string end_of(std::string_view front, std::string_view table, const checkpoint_texts& texts) {
  auto result = std::string{table} + texts.record + texts.history;
  const auto sum = checksum_of(std::as_bytes(std::span{result}),
                               short_checksum_of(std::as_bytes(std::span{front})));
  return result.append(reinterpret_cast<const char*>(sum.data()), sum.size());
}

} // namespace troupe::checkpoint_format
