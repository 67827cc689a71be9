#include "actors/node/result_outbox.hpp"

namespace troupe {

template <class T>
void result_outbox::tell(const T& news) {
  clock_.restart(context_.now());
  context_.tell_director(news);
}

void result_outbox::begin_term(uint64_t term) {
  rows_.clear();
  marks_.clear();
  // A parameter server may give out an evaluation before the view comes that says so.
  std::erase_if(evaluations_, [=](const auto& entry) { return entry.second.term != term; });
  hashes_.clear();
  not_finite_.reset();
}

void result_outbox::add(const training_report& news) {
  if (news.is_row)
    rows_[news.version] = news;
  else if (news.is_mark)
    marks_[news.version] = news;
  tell(news);
}

void result_outbox::add(const evaluation& news) {
  evaluations_[{news.version, news.first_chunk}] = news;
  tell(news);
}

void result_outbox::add(const span_hash& news) {
  hashes_[{news.version, news.blocks.begin}] = news;
  tell(news);
}

void result_outbox::add(const not_finite_report& news) {
  not_finite_ = news;
  tell(news);
}

void result_outbox::forget_rows(uint64_t version) {
  rows_.erase(rows_.begin(), rows_.upper_bound(version));
  const auto has_arrived = [=](const auto& entry) { return entry.first.first <= version; };
  std::erase_if(evaluations_, has_arrived);
  std::erase_if(hashes_, has_arrived);
}

void result_outbox::forget_marks_before(uint64_t version) {
  marks_.erase(marks_.begin(), marks_.lower_bound(version));
}

void result_outbox::tick(moment now) {
  if (!clock_.due(now))
    return;
  for (const auto& [version, row] : rows_)
    context_.tell_director(row);
  for (const auto& [version, mark] : marks_)
    context_.tell_director(mark);
  for (const auto& [key, result] : evaluations_)
    context_.tell_director(result);
  for (const auto& [key, hash] : hashes_)
    context_.tell_director(hash);
  if (not_finite_)
    context_.tell_director(*not_finite_);
}

} // namespace troupe
