// Piece losses: whether a piece of work ends every trainer that has it.
//
// What a lost trainer had is given to another. A row that ends its reader would so end them all, one
// after the other. So each piece is given out `attempts` times; then it is left out.
//
//   give --lost--> give --lost--> .. --`attempts` lost--> wait --nobody is back for `patience`--> leave out
//                                                          |
//                                  give <--one is back-----+
//
// A trainer of another process may be out of reach and alive: when its process joins again in the same
// life, its loss does not count. Of trainers of the keeper's own process (life 0) nobody comes back, and
// nobody waits.

#pragma once

#include "troupe/coordinators/base/moment.hpp"
#include "troupe/coordinators/membership/cluster_view.hpp"

#include <cstdint>
#include <map>
#include <vector>

namespace troupe {

struct piece_loss_options {
  size_t attempts = 0; ///< losses of one piece; 0: any number
  milliseconds patience{10'000};
};

class piece_losses {
public:
  enum class advice : uint8_t { give, wait, leave_out };

  explicit piece_losses(const piece_loss_options& options = {}) : options_(options) {}

  /// `life`: of the trainer's process; 0: the keeper's own.
  void on_lost(uint64_t piece, const replica_name& who, uint64_t life, moment now) {
    if (options_.attempts > 0)
      losses_[piece].push_back({who, life, now});
  }
  void on_joined(const replica_name& who, uint64_t life) {
    if (life != 0)
      for (auto& [piece, those] : losses_)
        std::erase_if(those, [&](const loss& x) { return x.who == who && x.life == life; });
  }

  advice of(uint64_t piece, moment now) const {
    const auto found = losses_.find(piece);
    if (found == losses_.end() || found->second.size() < options_.attempts)
      return advice::give;
    for (const auto& x : found->second)
      if (x.life != 0 && now < x.when + options_.patience)
        return advice::wait;
    return advice::leave_out;
  }

  /// It is done, or left out.
  void forget(uint64_t piece) { losses_.erase(piece); }
  void clear() { losses_.clear(); }

  friend bool operator==(const piece_losses& a, const piece_losses& b) {
    return a.losses_ == b.losses_;
  }

private:
  struct loss {
    replica_name who;
    uint64_t life = 0;
    moment when;

    friend bool operator==(const loss&, const loss&) = default;
  };

  piece_loss_options options_;
  std::map<uint64_t, std::vector<loss>> losses_;
};

} // namespace troupe
