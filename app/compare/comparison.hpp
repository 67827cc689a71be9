// What differs between runs: their jobs, their figures, and from which version on their bits.
// Pure: records of runs go in, findings come out.
//
// Bits are compared by what the folders hold of one and the same version: the SHA-256 of the result,
// the content of checkpoints, the hash of each row's version and, where a row has none, its figures,
// which are functions of the parameters down to their last bit. What differs in any of these differs;
// equal figures are strong evidence, but no proof.

#pragma once

#include "troupe/app/compare/run_record.hpp"
#include "troupe/models/base/names.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// A key of the jobs, or a circumstance, that is not the same in all runs.
struct run_difference {
  std::string key;
  std::vector<std::string> values; ///< by run, as TOML; empty: unset
  bool changes_bits = false;       ///< it is a part of the job's identity, or the arithmetic

  friend bool operator==(const run_difference&, const run_difference&) = default;
};

enum class bits_state : uint8_t {
  equal,        ///< the results are of one version and have one hash
  equal_so_far, ///< nothing that both runs have of one version differs
  differ,
  unknown, ///< they have nothing of one version
};

template <>
struct name_table<bits_state> {
  static constexpr std::array entries{
    named(bits_state::equal, "equal"), named(bits_state::equal_so_far, "equal-so-far"),
    named(bits_state::differ, "differ"), named(bits_state::unknown, "unknown")};
};

/// By what two versions were compared, the weakest first.
enum class bits_evidence : uint8_t {
  figures,
  state_hash, ///< the parameters are the same, what the optimizer remembers is not
  hash,
  checkpoint,
  result
};

template <>
struct name_table<bits_evidence> {
  static constexpr std::array entries{
    named(bits_evidence::figures, "figures"), named(bits_evidence::state_hash, "state-hash"),
    named(bits_evidence::hash, "hash"), named(bits_evidence::checkpoint, "checkpoint"),
    named(bits_evidence::result, "result")};
};

/// Of the bits of a run and those of the first one.
struct bits_finding {
  bits_state state = bits_state::unknown;
  std::optional<uint64_t> equal_until;   ///< the last version below `differ_from` that is equal
  std::optional<uint64_t> differ_from;   ///< the first one that is known to differ
  std::optional<bits_evidence> evidence; ///< for the last of these two
  std::string reason; ///< why they differ, as far as that can be known; empty: they do not
};

struct run_comparison {
  std::vector<run_difference> differences;
  std::vector<bits_finding> bits; ///< of every run but the first
};

/// Of at least one run.
run_comparison compare_runs(std::span<const run_record> runs);

/// The row that a run's figures are taken from: that of its result, else the last one.
const history_row* row_of_result(const run_record& run);

} // namespace troupe
