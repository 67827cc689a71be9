#include "data/training_rows/client_partition.hpp"

#include "models/base/random.hpp"
#include "models/base/require.hpp"
#include "models/base/rounding.hpp"
#include "models/math/elementary.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>
#include <string>
#include <utility>

namespace troupe {

namespace {

/// Sequences of the purpose `partition`, by what they are for.
constexpr uint64_t order_of_rows = 0;
constexpr uint64_t order_of_shards = 1;
constexpr uint64_t sizes_of_clients = 2;
constexpr uint64_t first_class = 1000; ///< proportions of class c: this + c

constexpr requirement require{"client partition"};

random_sequence sequence_of(const partition_options& x, uint64_t major) {
  return {x.seed, random_purpose::partition, major};
}

// Ends of C parts of `count` things whose shares are e^logs, by the floor of running sums.
std::vector<size_t> cut_by_shares(std::vector<double> logs, size_t count) {
  const auto greatest = *std::ranges::max_element(logs);
  double total = 0;
  for (auto& x : logs)
    total += x = elementary::exp_double(x - greatest);
  std::vector<size_t> ends;
  double sum = 0;
  for (const auto x : logs) {
    sum += x;
    ends.push_back(std::min(count, static_cast<size_t>(sum / total * static_cast<double>(count))));
  }
  ends.back() = count;
  return ends;
}

/// Which client each thing of an order belongs to, gathered; the order within a client stays.
class dealing {
public:
  dealing(size_t row_count, size_t client_count) : owner_(row_count), sizes_(client_count) {}

  void give(uint32_t row, size_t client) {
    owner_[row] = static_cast<uint32_t>(client);
    ++sizes_[client];
  }

  // One row after the other of whoever has most (of equals the first), its lowest one, for each
  // client that has none, in order.
  void fill_empty() {
    if (std::ranges::find(sizes_, 0u) == sizes_.end())
      return;
    using entry = std::pair<uint32_t, int64_t>; // rows, and -client: the first of equals on top
    std::priority_queue<entry> most;
    for (size_t i = 0; i < sizes_.size(); ++i)
      if (sizes_[i] > 1)
        most.push({sizes_[i], -static_cast<int64_t>(i)});
    std::vector<std::vector<uint32_t>> heirs(sizes_.size()); // of rows of each giver, in order
    for (size_t i = 0; i < sizes_.size(); ++i) {
      if (sizes_[i] != 0)
        continue;
      const auto [rows, giver] = most.top();
      most.pop();
      heirs[static_cast<size_t>(-giver)].push_back(static_cast<uint32_t>(i));
      sizes_[i] = 1;
      if (rows > 2)
        most.push({rows - 1, giver});
      --sizes_[static_cast<size_t>(-giver)];
    }
    std::vector<size_t> given(sizes_.size());
    for (auto& owner : owner_) {
      auto& next = given[owner];
      if (next < heirs[owner].size())
        owner = heirs[owner][next++];
    }
  }

  client_rows gathered(std::span<const uint32_t> order) const {
    client_rows result;
    result.offsets.resize(sizes_.size() + 1);
    std::inclusive_scan(sizes_.begin(), sizes_.end(), result.offsets.begin() + 1);
    result.rows.resize(order.size());
    auto next = result.offsets;
    for (const auto row : order)
      result.rows[next[owner_[row]]++] = row;
    return result;
  }

private:
  std::vector<uint32_t> owner_; ///< of each row
  std::vector<uint32_t> sizes_; ///< of each client
};

// A run of one number of rows for each, in random order, needs no owners.
client_rows deal_evenly(const partition_options& x, std::vector<uint32_t> order) {
  client_rows result;
  for (size_t i = 0; i <= x.client_count; ++i)
    result.offsets.push_back(static_cast<uint32_t>(order.size() * i / x.client_count));
  result.rows = std::move(order);
  return result;
}

std::vector<uint32_t> by_class(std::span<const uint32_t> order, std::span<const int32_t> labels) {
  std::vector<uint32_t> result(order.begin(), order.end());
  std::ranges::stable_sort(result, {}, [&](uint32_t row) { return labels[row]; });
  return result;
}

void deal_shards(const partition_options& x, std::span<const uint32_t> sorted, dealing& out) {
  const auto count = x.client_count * x.labels;
  const auto shards =
    random_permutation(sequence_of(x, order_of_shards), static_cast<uint32_t>(count));
  for (size_t place = 0; place < count; ++place) {
    const auto shard = shards[place];
    for (auto i = sorted.size() * shard / count; i < sorted.size() * (shard + 1) / count; ++i)
      out.give(sorted[i], place / x.labels);
  }
}

void deal_classes(const partition_options& x, std::span<const uint32_t> sorted,
                  std::span<const int32_t> labels, dealing& out) {
  for (size_t begin = 0; begin < sorted.size();) {
    const auto label = labels[sorted[begin]];
    auto end = begin;
    while (end < sorted.size() && labels[sorted[end]] == label)
      ++end;
    word_reader words{sequence_of(x, first_class + static_cast<uint64_t>(label))};
    std::vector<double> logs(x.client_count);
    for (auto& one : logs)
      one = draw_log_gamma(words, x.spread);
    const auto ends = cut_by_shares(std::move(logs), end - begin);
    size_t i = 0;
    for (size_t client = 0; client < x.client_count; ++client)
      for (; i < ends[client]; ++i)
        out.give(sorted[begin + i], client);
    begin = end;
  }
}

void deal_sizes(const partition_options& x, std::span<const uint32_t> order, dealing& out) {
  word_reader words{sequence_of(x, sizes_of_clients)};
  std::vector<double> logs(x.client_count);
  for (auto& one : logs)
    one = x.spread * draw_normal(words);
  const auto ends = cut_by_shares(std::move(logs), order.size());
  size_t i = 0;
  for (size_t client = 0; client < x.client_count; ++client)
    for (; i < ends[client]; ++i)
      out.give(order[i], client);
}

// 1 for each number that is an owner's.
std::vector<uint32_t> found_owners(std::span<const uint32_t> owners) {
  std::vector<uint32_t> result(owners.empty() ? 0 : size_t{*std::ranges::max_element(owners)} + 1);
  for (const auto owner : owners)
    result[owner] = 1;
  return result;
}

} // namespace

client_rows partition_rows(const partition_options& x, size_t row_count,
                           std::span<const int32_t> labels) {
  const default_rounding rounding;
  require(!is_natural(x.kind), "the rows say themselves whose they are");
  const bool by_labels = x.kind == partition_kind::labels || x.kind == partition_kind::dirichlet;
  require(x.client_count >= 1, "there must be a client");
  require(x.held_out || x.client_count <= row_count,
          std::to_string(x.client_count) + " clients share " + std::to_string(row_count) +
            " rows: " + std::to_string(x.client_count - std::min(x.client_count, row_count)) +
            " would have none");
  require(!by_labels || labels.size() == row_count, "the rows have no classes");
  require(x.kind != partition_kind::labels || x.held_out ||
            (x.labels >= 1 && x.labels <= row_count / x.client_count),
          "there are fewer rows than shards");
  require(x.kind != partition_kind::dirichlet || (x.spread > 0 && std::isfinite(x.spread)),
          "the parameter of Dirichlet's distribution must be above 0");
  require(x.kind != partition_kind::sizes || (x.spread >= 0 && std::isfinite(x.spread)),
          "the spread of sizes must be at least 0");
  auto order = random_permutation(sequence_of(x, order_of_rows), static_cast<uint32_t>(row_count));
  if (x.kind == partition_kind::iid)
    return deal_evenly(x, std::move(order));
  dealing result{row_count, x.client_count};
  if (x.kind == partition_kind::sizes) {
    deal_sizes(x, order, result);
  } else {
    const auto sorted = by_class(order, labels);
    if (x.kind == partition_kind::labels)
      deal_shards(x, sorted, result);
    else
      deal_classes(x, sorted, labels, result);
  }
  if (!x.held_out)
    result.fill_empty();
  return result.gathered(order);
}

client_rows clients_of(const partition_options& options, const dataset& rows) {
  return is_natural(options.kind) ? rows_of_owners(rows.clients)
                                  : partition_rows(options, rows.row_count, rows.labels);
}

client_rows rows_of_owners(std::span<const uint32_t> owners) {
  auto places = found_owners(owners);
  uint32_t count = 0;
  for (auto& place : places)
    place = place > 0 ? count++ : 0;
  dealing result{owners.size(), count};
  std::vector<uint32_t> order(owners.size());
  std::iota(order.begin(), order.end(), 0u);
  for (const auto row : order)
    result.give(row, places[owners[row]]);
  return result.gathered(order);
}

size_t owner_count(std::span<const uint32_t> owners) {
  const auto found = found_owners(owners);
  return static_cast<size_t>(std::ranges::count(found, 1u));
}

} // namespace troupe
