#include "actors/tasks/federation.hpp"

#include "data/records/recorded_rounds.hpp"
#include "data/text/failure.hpp"
#include "models/privacy/secret_stream.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

void federation::repeat(std::shared_ptr<const std::vector<recorded_round>> record,
                        std::vector<std::string> files, size_t client_count) {
  record_ = std::move(record);
  files_ = std::move(files);
  client_count_ = client_count;
}

std::optional<uint64_t> federation::recorded_rounds() const {
  return record_ ? std::optional<uint64_t>{record_->size()} : std::nullopt;
}

size_t federation::group_count() const {
  const auto& x = options_.cohort;
  return x.group_count > 0 ? x.group_count : x.invited_max();
}

std::shared_ptr<const cohort> federation::cohort_at(uint64_t round, uint64_t attempt) const {
  std::lock_guard guard{mutex_};
  if (gathers())
    return open_.round == round && open_.attempt == attempt ? open_.who : nullptr;
  for (const auto& x : kept_)
    if (x.round == round && x.attempt == attempt)
      return x.who;
  if (kept_.size() == 2)
    kept_.erase(kept_.begin());
  kept_.push_back(
    {round, attempt,
     std::make_shared<const cohort>(record_ ? recorded(round) : draw(round, attempt))});
  return kept_.back().who;
}

cohort federation::draw(uint64_t round, uint64_t attempt) const {
  if (!options_.has_secret_cohorts())
    return cohort_of(options_.cohort, rows_.offsets, round);
  const auto client_count = static_cast<uint32_t>(client_count_);
  return cohort_among(
    options_.cohort, rows_.offsets, round,
    secret_cohort(key_, round, attempt, client_count, options_.sampling_rate(client_count)));
}

cohort federation::recorded(uint64_t round) const {
  const auto& x = record_->at(round);
  cohort result;
  result.invited = x.clients.size();
  for (const auto& client : x.clients) {
    auto found = files_.end(); // of "ward.csv" and "ward.south.csv" the first is that of "ward"
    for (auto file = files_.begin(); file != files_.end(); ++file)
      if ((*file == client.name || file->starts_with(client.name + '.')) &&
          (found == files_.end() || file->size() < found->size()))
        found = file;
    if (found == files_.end())
      throw failure(failure_code::missing_input,
                    "round " + std::to_string(x.round) + " has the client " + client.name +
                      ", and none of the files is called so",
                    "federated.partition", "give the rows of every client: NAME.csv");
    result.counted.push_back(static_cast<uint32_t>(found - files_.begin()));
    result.named.push_back({client.name, client.rows, client.update});
    result.group_ends.resize(client.group + 1,
                             result.group_ends.empty() ? 0 : result.group_ends.back());
    result.group_ends.back() = result.counted.size();
  }
  return result;
}

void federation::gather(uint64_t round, uint64_t attempt, const const_buffer& start,
                        std::function<void(const gathered_round&)> take) const {
  std::shared_ptr<const gathered_round> here;
  {
    std::lock_guard guard{mutex_};
    if (const entry asked{round, attempt, {}};
        open_.round != round || open_.attempt != attempt || !std::exchange(has_opened_, true)) {
      open_ = asked;
      gathered_.reset();
      waiting_.clear();
      opener_(round, attempt, start, [this](gathered_round x) { on_gathered(std::move(x)); });
    }
    if (!gathered_)
      waiting_.push_back(std::move(take));
    here = gathered_;
  }
  if (here)
    take(*here);
}

void federation::on_gathered(gathered_round x) const {
  std::vector<std::function<void(const gathered_round&)>> waiting;
  std::shared_ptr<const gathered_round> here;
  {
    std::lock_guard guard{mutex_};
    open_.who = x.who;
    here = gathered_ = std::make_shared<const gathered_round>(std::move(x));
    waiting.swap(waiting_);
  }
  for (const auto& take : waiting)
    take(*here);
}

} // namespace troupe
