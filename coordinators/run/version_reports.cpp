#include "coordinators/run/version_reports.hpp"

#include <algorithm>
#include <iterator>

namespace troupe {

bool version_hashes::add(uint64_t version, const index_range& blocks, const version_hash& hash) {
  if (blocks.begin >= blocks.end || blocks.end > block_count_)
    return false;
  auto& parts = parts_[version];
  const auto next = parts.lower_bound(blocks.begin);
  if (next != parts.end() && next->first < blocks.end)
    return next->first == blocks.begin && next->second.end == blocks.end;
  if (next != parts.begin() && std::prev(next)->second.end > blocks.begin)
    return false;
  parts.emplace_hint(next, blocks.begin, part{blocks.end, hash});
  return true;
}

std::optional<version_hash> version_hashes::hash_of(uint64_t version) const {
  const auto found = parts_.find(version);
  if (found == parts_.end())
    return std::nullopt;
  version_hash result;
  uint64_t known = 0;
  for (const auto& [first, one] : found->second) {
    result += one.hash;
    known += one.end - first;
  }
  return known == block_count_ ? std::optional{result} : std::nullopt;
}

version_metrics::version_metrics(std::shared_ptr<const metric_set> metrics,
                                 const evaluation_rows& rows)
  : metrics_(metrics ? std::move(metrics) : std::make_shared<const metric_set>()), rows_(rows) {}

bool version_metrics::takes(uint64_t first_chunk, size_t chunk_count,
                            const std::vector<metric_sums>& sums) const {
  const auto all = rows_.chunk_count();
  return first_chunk <= all && chunk_count <= all - first_chunk &&
         sums.size() == (metrics_->empty() ? 0 : chunk_count) &&
         std::ranges::all_of(sums, [&](const auto& x) { return x.fits(metrics_->sum_count()); });
}

void version_metrics::add(uint64_t version, uint64_t first_chunk,
                          const std::vector<metric_sums>& sums) {
  for (size_t i = 0; i < sums.size(); ++i)
    sums_[version].emplace(first_chunk + i, sums[i]);
}

metric_figures version_metrics::figures_of(uint64_t version) const {
  metric_figures result;
  const auto of_test = rows_.test.chunk_count();
  if (rows_.test.row_count() > 0)
    metrics_->add_figures("test", total_of(version, {0, of_test}), result);
  if (rows_.validation.row_count() > 0)
    metrics_->add_figures("validation", total_of(version, {of_test, rows_.chunk_count()}), result);
  return result;
}

std::vector<double> version_metrics::total_of(uint64_t version, const index_range& chunks) const {
  const auto found = sums_.find(version);
  if (found == sums_.end() || found->second.size() < rows_.chunk_count())
    return {};
  std::vector<double> result(metrics_->sum_count());
  for (auto chunk = chunks.begin; chunk < chunks.end; ++chunk)
    found->second.at(chunk).add_to(result);
  return result;
}

} // namespace troupe
