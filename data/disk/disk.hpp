// A disk as checkpoints see it: files that are written once, in any order, and read anywhere.
//
// Everything that must outlive a crash goes through this interface, so that a test can put a disk
// in memory behind it that is full, fails or loses what was not synced. `posix_disk` is the real
// one. What a crash keeps is what POSIX promises: the content of a file up to its last `sync`, and
// the names of a folder up to its last `sync_folder`; of anything later all, a part or nothing.
// `rename` is atomic: after a crash the name leads to the old file or to the new one.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace troupe {

/// An operation that failed, with the reason as POSIX numbers them (ENOSPC, EIO, ...).
class disk_error : public std::runtime_error {
public:
  /// `operation` completes the sentence "cannot ...": "write the file".
  disk_error(std::string operation, std::string path, int error_number);

  const std::string& operation() const noexcept { return operation_; }
  const std::string& path() const noexcept { return path_; }
  int error_number() const noexcept { return error_number_; }

private:
  std::string operation_;
  std::string path_;
  int error_number_;
};

/// A new file. Destroying it closes the file and leaves it where it is.
class disk_writer {
public:
  virtual ~disk_writer() = default;

  /// Puts all of `bytes` behind the first `offset` bytes; what nobody wrote before them is zeros.
  /// When it throws, any part of them may have been written.
  virtual void write(uint64_t offset, std::span<const std::byte> bytes) = 0;

  /// Takes room for the first `bytes` of the file, where the file system can: later no write of
  /// these fails for want of room. Elsewhere it looks whether there is as much now.
  virtual void reserve(uint64_t bytes) = 0;

  /// Its permissions; false, with errno, where they cannot be set.
  virtual bool set_mode(uint32_t) { return true; }

  /// Gives it this name as well; false when there is something with that name already. Only the disk
  /// of this machine can.
  virtual bool link(const std::string&) { return false; }

  /// Returns once everything written would survive a power failure. After it threw once nothing is
  /// known of the file any more: it has to be written anew.
  virtual void sync() = 0;
};

/// A file that is only read.
class disk_reader {
public:
  virtual ~disk_reader() = default;

  virtual uint64_t size() const = 0;

  /// Fills `out` from the byte `offset` on; returns how many bytes there were: fewer than asked for
  /// only where the file ends.
  virtual size_t read(uint64_t offset, std::span<std::byte> out) const = 0;
};

/// Every member throws disk_error when it fails, and nothing else but std::bad_alloc. Paths are
/// whole paths. Used by one thread at a time.
class disk {
public:
  virtual ~disk() = default;

  /// Makes an empty file; EEXIST when there is something with that name already.
  virtual std::unique_ptr<disk_writer> create(const std::string& path, uint32_t mode = 0666) = 0;

  /// Makes one without a name, which is gone with its writer unless it is linked. Null where that
  /// cannot be done.
  virtual std::unique_ptr<disk_writer> create_nameless(const std::string&, uint32_t) { return {}; }

  /// Opens a file; ENOENT when there is none.
  virtual std::unique_ptr<disk_reader> open(const std::string& path) const = 0;

  /// Gives a file another name in the same folder; a file that had that name is gone.
  virtual void rename(const std::string& from, const std::string& to) = 0;

  /// Removes a file; ENOENT when there is none. Who has it open goes on with it; its room is free
  /// once nobody has.
  virtual void remove(const std::string& path) = 0;

  /// The names in a folder (without its path), sorted; ENOENT when there is no such folder.
  virtual std::vector<std::string> list(const std::string& folder) const = 0;

  /// Returns once the names in a folder would survive a power failure.
  virtual void sync_folder(const std::string& folder) = 0;

  /// Bytes that can still be written in a folder; nothing when that is not known.
  virtual std::optional<uint64_t> bytes_available(const std::string& folder) const = 0;
};

/// The disk of this machine.
std::shared_ptr<disk> posix_disk();

} // namespace troupe
