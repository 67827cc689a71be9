// Blob store: an application's place for checkpoints that is no disk, such as an object store or a database.
//
//   class my_store : public troupe::blob_store { put, get, list, erase };
//   options.checkpoints = std::make_shared<troupe::checkpoint_store>(disk_of(std::make_shared<my_store>()), "run 7");
//
// A file that is being written lies in memory, as large as it is, and is put as a whole once it gets its name.

#pragma once

#include "data/disk/disk.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// Names are paths such as "run 7/checkpoint-000000000120.troupe". Called by one thread at a time. A function that
/// cannot do it throws, any std::exception: the checkpoint fails with its text, and older ones stay.
class blob_store {
public:
  virtual ~blob_store() = default;

  /// Keeps these bytes under the name, in place of others. Returns once they would survive a power failure.
  virtual void put(const std::string& name, std::span<const std::byte> bytes) = 0;

  /// Nothing when there is none.
  virtual std::optional<std::vector<std::byte>> get(const std::string& name) const = 0;

  /// The names that begin so.
  virtual std::vector<std::string> list(const std::string& beginning) const = 0;

  /// Nothing happens when there is none.
  virtual void erase(const std::string& name) = 0;
};

/// The store as a disk. Every folder is there, and empty at first. What has not got its name yet is in memory, and gone
/// with this object.
std::shared_ptr<disk> disk_of(std::shared_ptr<blob_store> store);

} // namespace troupe
