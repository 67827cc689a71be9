#include "troupe/actors/orders/release_book.hpp"

#include "troupe/data/text/failure.hpp"

#include <set>

namespace troupe {

release_book::release_book(const release_options& options, uint64_t version)
  : options_(options), ledger_(options.ledger), budget_(options.budget) {
  std::set<uint64_t> rounds;
  for (const auto& x : ledger_.releases()) {
    budget_.add({x.sampling_rate, x.noise});
    if (x.round < version)
      rounds.insert(x.round);
  }
  if (rounds.size() < version)
    throw failure(failure_code::bad_data,
                  "the ledger of releases has " + std::to_string(rounds.size()) + " of the " +
                    std::to_string(version) + " rounds that the checkpoint has",
                  options_.ledger,
                  "put back the file that belongs to the run, or begin anew with another key");
}

void release_book::record(uint64_t round) {
  const auto& kind = options_.budget.kind;
  ledger_.record(
    {round, attempt_at(round), kind.sampling_rate, kind.noise, budget_.next_epsilon()});
  budget_.add(kind);
}

privacy_totals release_book::totals() const {
  const auto& [delta, limit, kind] = options_.budget;
  return {budget_.count(), budget_.epsilon(),  delta,
          kind.noise,      kind.sampling_rate, options_.clip_norm};
}

} // namespace troupe
