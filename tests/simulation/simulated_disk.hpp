// A disk in memory that does to files what disks do: it fills up, fails, rots, and loses at a power
// cut what was not synced, or keeps a part of it.
//
// It keeps two pictures: what programs see, and what would survive. `sync` carries a file's content
// from one to the other, `sync_folder` a folder's names. At a power cut each name operation since
// survives or not, and of each file the synced part and any part of the rest, some of it as zeros,
// as a file system that has made room but not written there.

#pragma once

#include "data/disk/disk.hpp"
#include "tests/simulation/dice.hpp"

#include <functional>
#include <map>
#include <optional>
#include <set>

namespace troupe::simulation {

class simulated_disk final : public disk {
public:
  explicit simulated_disk(uint64_t seed) : random_(seed) {}

  void make_folder(const std::string& folder) { folders_.insert(folder); }

  std::unique_ptr<disk_writer> create(const std::string& path, uint32_t mode = 0666) override;
  std::unique_ptr<disk_reader> open(const std::string& path) const override;
  void rename(const std::string& from, const std::string& to) override;
  void remove(const std::string& path) override;
  std::vector<std::string> list(const std::string& folder) const override;
  void sync_folder(const std::string& folder) override;
  std::optional<uint64_t> bytes_available(const std::string& folder) const override;

  /// No more than so many bytes in all; nothing: no limit.
  void set_capacity(std::optional<uint64_t> bytes) { capacity_ = bytes; }
  uint64_t bytes_used() const;

  /// The next so many operations that change something fail with an I/O error.
  void fail_next(size_t operations) { failing_ = operations; }

  /// Power is cut in the middle of the operation after so many more: it and all later ones fail,
  /// and `told` is called at once.
  void cut_power_after(size_t operations, std::function<void()> told);
  bool waits_for_power_cut() const { return static_cast<bool>(on_cut_); }

  /// Whatever was to go wrong from now on does not.
  void forget_faults() {
    capacity_.reset();
    failing_ = 0;
    on_cut_ = {};
  }

  /// The machine lost power: only what survives is left, and open files are dead.
  void lose_power();
  /// The process died: open files are dead, the system still has all that was written.
  void close_all() {
    ++life_;
    is_cut_ = false;
    on_cut_ = {};
  }

  /// Flips a bit of a file; false when there is no file with content.
  bool rot();
  /// The disk is gone, and an empty one with the same folders in its place.
  void replace();

  size_t operation_count() const { return operations_; }

private:
  struct file {
    std::vector<std::byte> content;
    size_t synced_bytes = 0;
  };
  using file_ptr = std::shared_ptr<file>;

  struct name_change {
    std::string from; ///< empty: a new file
    std::string to;   ///< empty: removed
    file_ptr what;
  };

  class writer;
  class reader;

  /// Counts an operation that changes something, and fails it if that is due.
  void begin_operation(const std::string& operation, const std::string& path);
  file_ptr find(const std::string& path) const;
  void tear(file& x);

  dice random_;
  std::set<std::string> folders_;
  std::map<std::string, file_ptr> names_;
  std::map<std::string, file_ptr> surviving_names_;
  std::vector<name_change> unsynced_;
  std::optional<uint64_t> capacity_;
  size_t failing_ = 0;
  size_t operations_ = 0;
  uint64_t life_ = 0; ///< of the process: files opened in an earlier one are dead
  bool is_cut_ = false;
  size_t until_cut_ = 0;
  std::function<void()> on_cut_;
};

} // namespace troupe::simulation
