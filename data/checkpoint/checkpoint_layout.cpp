#include "data/checkpoint/checkpoint_layout.hpp"

#include "data/records/history_figures.hpp"
#include "data/text/failure.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace troupe {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

namespace {

/// The most zeros that may stand behind a record: they bring the tensors to a multiple of 64.
constexpr size_t padding_bytes_max = 63;

/// What a record may have behind it: of its rows, and of the rate.
struct optional_parts {
  bool metrics = false;
  bool hashes = false;
  bool plateau = false;
};

class record_writer {
public:
  void number(uint64_t value) { bytes(&value, sizeof(value)); }
  void real(double value) { number(std::bit_cast<uint64_t>(value)); }
  void flag(bool value) { result.push_back(std::byte{value}); }

  void text(const std::string& value) {
    number(value.size());
    bytes(value.data(), value.size());
  }

  void optional_real(const std::optional<double>& value) {
    flag(value.has_value());
    if (value)
      real(*value);
  }

  template <class Item, class Visit>
  void list(const std::vector<Item>& items, Visit visit) {
    number(items.size());
    for (const auto& item : items)
      visit(item);
  }

  void flags(bool has_best, const checkpoint& x) {
    const auto& rows = x.history;
    parts_.metrics =
      std::ranges::any_of(rows, [](const auto& row) { return !figures_by_name(row).empty(); });
    parts_.hashes = std::ranges::any_of(rows, [](const auto& row) { return row.hash.has_value(); });
    parts_.plateau = !(x.plateau == stop_rule_memory{}) || !x.reductions.empty();
    result.push_back(std::byte{has_best} | std::byte{parts_.metrics} << 1 |
                     std::byte{parts_.hashes} << 2 | std::byte{parts_.plateau} << 3);
  }

  const optional_parts& parts() const { return parts_; }

  std::vector<std::byte> result;

private:
  void bytes(const void* from, size_t count) {
    const auto* first = static_cast<const std::byte*>(from);
    result.insert(result.end(), first, first + count);
  }

  optional_parts parts_;
};

class record_reader {
public:
  record_reader(std::span<const std::byte> bytes, const std::string& path, uint64_t first_byte)
    : bytes_(bytes), path_(path), first_byte_(first_byte) {}

  void number(uint64_t& value) { std::memcpy(&value, take(sizeof(value)), sizeof(value)); }

  void real(double& value) {
    uint64_t bits = 0;
    number(bits);
    value = std::bit_cast<double>(bits);
  }

  void flag(bool& value) {
    const auto byte = *take(1);
    if (byte > std::byte{1})
      refuse("a flag is neither 0 nor 1");
    value = byte == std::byte{1};
  }

  void text(std::string& value) {
    const auto size = count(1);
    value.assign(reinterpret_cast<const char*>(take(size)), size);
  }

  void optional_real(std::optional<double>& value) {
    bool is_there = false;
    flag(is_there);
    if (is_there)
      real(value.emplace());
  }

  template <class Item, class Visit>
  void list(std::vector<Item>& items, Visit visit) {
    // Nothing in a list takes less than a number. It grows as items come, because some take more
    // memory than bytes, and a false length must not cost a multiple of the file.
    for (auto left = count(sizeof(uint64_t)); left > 0; --left)
      visit(items.emplace_back());
  }

  void flags(bool& has_best, const checkpoint&) {
    const auto byte = *take(1);
    if (byte > std::byte{15})
      refuse("flags that nobody writes");
    has_best = (byte & std::byte{1}) != std::byte{0};
    parts_.metrics = (byte & std::byte{2}) != std::byte{0};
    parts_.hashes = (byte & std::byte{4}) != std::byte{0};
    parts_.plateau = (byte & std::byte{8}) != std::byte{0};
  }

  const optional_parts& parts() const { return parts_; }

  void expect_end() const {
    const auto rest = bytes_.subspan(at_);
    const auto is_zero = [](std::byte byte) { return byte == std::byte{0}; };
    if (rest.size() > padding_bytes_max || !std::all_of(rest.begin(), rest.end(), is_zero))
      refuse("something follows the record");
  }

private:
  const std::byte* take(size_t size) {
    if (size > bytes_.size() - at_)
      refuse("the record ends too early");
    const auto* result = bytes_.data() + at_;
    at_ += size;
    return result;
  }

  size_t count(size_t item_bytes_min) {
    uint64_t result = 0;
    number(result);
    if (result > (bytes_.size() - at_) / item_bytes_min)
      refuse("a length is beyond the record's end");
    return result;
  }

  [[noreturn]] void refuse(const std::string& reason) const {
    throw failure(failure_code::bad_data,
                  reason + " (byte " + std::to_string(first_byte_ + at_) + ")", path_,
                  "the file is damaged");
  }

  std::span<const std::byte> bytes_;
  const std::string& path_;
  uint64_t first_byte_;
  size_t at_ = 0;
  optional_parts parts_;
};

// What follows is said once for writing and reading.

// Not a number where it was not told: there were none of those before.
void visit_train_loss(auto& record, auto& row) {
  auto loss = row.train_loss.value_or(std::numeric_limits<double>::quiet_NaN());
  record.real(loss);
  if constexpr (!std::is_const_v<std::remove_reference_t<decltype(row)>>)
    row.train_loss = std::isnan(loss) ? std::nullopt : std::optional{loss};
}

void visit_row(auto& record, auto& row) {
  record.number(row.epoch);
  record.number(row.steps);
  record.real(row.seconds);
  record.real(row.learning_rate);
  visit_train_loss(record, row);
  for (const auto& figure : placed_figures().subspan(3)) {
    auto value = figure.in(row);
    record.optional_real(value);
    if constexpr (!std::is_const_v<std::remove_reference_t<decltype(row)>>)
      figure.set(row, value);
  }
}

void visit_metrics(auto& record, auto& row) {
  const auto named = figures_by_name(row);
  std::vector<std::pair<std::string, std::optional<double>>> figures{named.begin(), named.end()};
  record.list(figures, [&](auto& one) {
    record.text(one.first);
    record.optional_real(one.second);
  });
  if constexpr (!std::is_const_v<std::remove_reference_t<decltype(row)>>)
    set_figures(row, {figures.begin(), figures.end()});
}

void visit_hash(auto& record, auto& row) {
  bool is_hashed = row.hash.has_value();
  record.flag(is_hashed);
  if (!is_hashed)
    return;
  auto hash = row.hash.value_or(version_hash{});
  for (auto* sum : {&hash.parameters, &hash.state}) {
    record.number(sum->high);
    record.number(sum->low);
  }
  if constexpr (!std::is_const_v<std::remove_reference_t<decltype(row)>>)
    row.hash = hash;
}

void visit_sums(auto& record, auto& sums) {
  record.real(sums.loss_sum);
  record.number(sums.sample_count);
  record.number(sums.correct_count);
  record.real(sums.squared_error_sum);
}

void visit_stop(auto& record, auto& stop) {
  record.real(stop.best_loss);
  record.number(stop.best_version);
  record.number(stop.waited);
}

void visit_all(auto& record, auto& x, auto& shape) {
  record.text(x.job_sha256);
  record.text(x.arithmetic);
  record.number(x.version);
  record.number(x.term);
  record.number(shape.parameter_count);
  record.number(shape.slot_count);
  record.flags(shape.has_best_parameters, x);
  record.list(x.optimizer_numbers, [&](auto& value) { record.real(value); });
  visit_sums(record, x.metrics);
  visit_stop(record, x.stop);
  record.number(x.best_version);
  record.real(x.best_loss);
  record.list(x.history, [&](auto& row) { visit_row(record, row); });
  record.real(x.seconds);
  record.list(x.replicas, [&](auto& work) {
    record.number(work.steps_executed);
    record.number(work.sample_count);
  });
  if (record.parts().metrics)
    for (auto& row : x.history)
      visit_metrics(record, row);
  if (record.parts().hashes)
    for (auto& row : x.history)
      visit_hash(record, row);
  if (!record.parts().plateau)
    return;
  visit_stop(record, x.plateau);
  record.list(x.reductions, [&](auto& step) { record.number(step); });
}

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

std::vector<std::byte> checkpoint_record(const checkpoint& x, const checkpoint_shape& shape) {
  record_writer record;
  visit_all(record, x, shape);
  return std::move(record.result);
}

parsed_record parse_checkpoint_record(std::span<const std::byte> bytes, const std::string& path,
                                      uint64_t first_byte) {
  parsed_record result;
  record_reader record{bytes, path, first_byte};
  visit_all(record, result.head, result.shape);
  record.expect_end();
  return result;
}

} // namespace troupe

namespace troupe::checkpoint_format {

namespace {

using bytes = std::vector<std::byte>;

void add(bytes& out, std::span<const std::byte> more) {
  out.insert(out.end(), more.begin(), more.end());
}

void add(bytes& out, std::string_view text) {
  add(out, std::as_bytes(std::span(text)));
}

template <class Number>
void add_number(bytes& out, Number value) {
  add(out, std::as_bytes(std::span(&value, 1)));
}

} // namespace

uint64_t chunk_count_of_tensor(const checkpoint_shape& shape) {
  return (shape.parameter_count + chunk_elements - 1) / chunk_elements;
}

uint64_t table_bytes(const checkpoint_shape& shape) {
  return shape.tensor_count() * chunk_count_of_tensor(shape) * sizeof(checksum_bytes);
}

uint64_t data_bytes(const checkpoint_shape& shape) {
  return place_of(shape.parameter_count, shape.tensor_count(), 0);
}

uint64_t file_bytes(const checkpoint_shape& shape, uint64_t record_bytes) {
  return start_bytes + data_bytes(shape) + table_bytes(shape) + record_bytes + tail_bytes;
}

bytes start_of(const checkpoint_shape& shape, std::span<const std::byte> record) {
  if (record.size() > std::numeric_limits<uint32_t>::max())
    throw std::invalid_argument("checkpoint: a record of " + std::to_string(record.size()) +
                                " bytes is too long for its file");
  bytes result;
  add(result, start_mark);
  add_number(result, version);
  add_number(result, static_cast<uint32_t>(record.size()));
  add_number(result, file_bytes(shape, record.size()));
  auto checked = result;
  add(checked, record);
  add(result, checksum_of(checked));
  result.resize(start_bytes);
  return result;
}

bytes end_of(std::span<const std::byte> start, std::span<const std::byte> table,
             std::span<const std::byte> record) {
  bytes checked;
  add(checked, start.subspan(checked_preamble_bytes, sizeof(checksum_bytes)));
  add(checked, table);
  bytes result{table.begin(), table.end()};
  add(result, record);
  add(result, checksum_of(checked));
  add(result, end_mark);
  return result;
}

} // namespace troupe::checkpoint_format
