// The ledger of releases: what of a private run has left it, one line each in releases.csv.
//
//   round,attempt,sampling_rate,noise,epsilon
//
// A line is on the disk before what it tells of leaves the process. So whatever happens then, every
// release is in it: the accountant of a run that goes on begins with all of them, those too that a
// roll-back made useless; and a round that is made again is made at another attempt, with other noise.
// Two releases with the same noise would differ by exactly what the noise was to hide.
//
// Lines are only ever added. What a crash left of a line is cut off: its release was never made.

#pragma once

#include "data/disk/open_file.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

struct privacy_release {
  uint64_t round = 0;
  uint64_t attempt = 0;     ///< at this round, from 0
  double sampling_rate = 1; ///< q of the accountant (models/privacy/accountant.hpp)
  double noise = 0;         ///< z
  double epsilon = 0;       ///< of all releases up to this one

  friend bool operator==(const privacy_release&, const privacy_release&) = default;
};

class release_ledger {
public:
  /// Opens or makes the file. Throws failure: bad_data for a line that is none, with its number;
  /// otherwise as the disk refuses.
  explicit release_ledger(std::string path);

  const std::vector<privacy_release>& releases() const { return releases_; }
  /// The first attempt at a round that nothing was released of.
  uint64_t next_attempt(uint64_t round) const;

  /// Returns once the line would survive a power failure. Throws failure when it may not, and
  /// std::logic_error for an attempt that has been: nothing may be released then.
  void record(const privacy_release& release);

  const std::string& path() const { return path_; }

private:
  void read();
  void begin_file();

  std::string path_;
  open_file file_;
  std::vector<privacy_release> releases_;
};

} // namespace troupe
