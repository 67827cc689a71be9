// Rows of an application that are read part by part: of a database, a simulation, files of its own. They need not fit into
// memory.
//
//   class sensor_rows : public troupe::row_supply { .. };
//   job.data.shuffle = troupe::shuffle_kind::lanes;         // windows of them are in memory, never all
//   auto result = troupe::train(system, job, troupe::prepare_data(job, std::make_shared<sensor_rows>()));
//
// All rows, or those of the first epoch, are read once before training, and counted. Each later reading is held against
// that: a supply whose rows have changed meanwhile ends training with a failure, and not with another model. So the
// trained bits follow from the rows and the job; rows that a file of rows holds as numbers of 32 bits train the bits of
// that file.

#pragma once

#include "data/rows_file/row_chunks.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace troupe {

/// Where a supply writes n rows of F features, and their class numbers or T targets.
struct row_room {
  std::span<float> features; ///< n x F, row-major
  std::span<int32_t> labels; ///< n for classes, else none
  std::span<float> targets;  ///< n x T for numbers, else none
};

/// Throw what you like when rows cannot be had: training ends with its words.
class row_supply {
public:
  virtual ~row_supply() = default;

  /// Without rows: feature_count, feature_names and target_names, and either classes or target_count.
  virtual dataset form() const = 0;
  virtual uint64_t row_count() const = 0; ///< 1 .. 2^32 - 1
  /// Rows without an end: epoch e (from 0) has the rows from e row_count() on, in their order, and no row comes twice. A
  /// step's rows follow from its number, and so does what a run that goes on from a checkpoint asks for.
  virtual bool is_endless() const { return false; }
  /// Writes rows [begin, begin + n): finite numbers, labels of the form's classes. It is called on any thread, on several
  /// at a time.
  virtual void read(uint64_t begin, const row_room& out) const = 0;
};

/// XXH3 (64 bits) of a chunk's features, and of its labels or targets.
std::array<uint64_t, 2> checksums_of(const rows_chunk& x);

/// A supply's rows in chunks.
class supplied_rows : public row_chunks {
public:
  /// Reads all rows. `chunk_rows`: absent: default_chunk_rows. Throws failure: bad_data, naming the row, for a form that is
  /// none, a number that is not finite and a label of no class; what `read` threw as io_error; interrupted
  /// (data/source/text_source.hpp).
  supplied_rows(std::shared_ptr<const row_supply> supply, std::optional<uint64_t> chunk_rows);

  const std::string& name() const noexcept override { return name_; }
  const rows_header& header() const noexcept override { return header_; }
  const std::string& fingerprint() const noexcept override { return fingerprint_; }
  rows_chunk read_chunk(uint64_t number) const override;
  rows_chunk read_targets(uint64_t number) const override;

  bool is_endless() const { return supply_->is_endless(); }
  /// Rows [begin, begin + count), none of which is held against anything.
  rows_chunk part(uint64_t begin, size_t count) const;
  /// Throws failure(bad_data): these rows are others than they were.
  [[noreturn]] void refuse_change(uint64_t begin, size_t count) const;

private:
  std::shared_ptr<const row_supply> supply_;
  std::string name_ = "the application's rows";
  rows_header header_;
  std::string fingerprint_;
};

} // namespace troupe
