// Entries of rows whose number nobody knows yet. The list grows without moving what it holds, and lets go
// of it bit by bit when it becomes a matrix: 8 bytes an entry at any time, and 2 MB besides.

#pragma once

#include "troupe/data/formats/libsvm/libsvm_rows.hpp"
#include "troupe/data/table/sparse_matrix.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

class entry_list {
public:
  size_t size() const { return size_; }

  void add(std::span<const libsvm_entry> row);

  /// Calls visit(entry) for each, in order.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const auto& block : blocks_)
      for (const auto& entry : block)
        visit(entry);
  }

  /// The entries as rows that begin at `starts`, which ends with their number; the list is empty then.
  sparse_matrix take(std::vector<uint64_t> starts);

private:
  std::vector<std::vector<libsvm_entry>> blocks_;
  size_t size_ = 0;
};

} // namespace troupe
