#include "tests/simulation/simulated_disk.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace troupe::simulation {

namespace {

/// File systems write whole sectors.
constexpr size_t sector_bytes = 512;

std::string folder_of(const std::string& path) {
  return path.substr(0, path.find_last_of('/'));
}

} // namespace

class simulated_disk::writer final : public disk_writer {
public:
  writer(simulated_disk& home, file_ptr what, std::string path)
    : home_(home), file_(std::move(what)), path_(std::move(path)), life_(home.life_) {}

  void write(uint64_t offset, std::span<const std::byte> bytes) override {
    require_life();
    try {
      home_.begin_operation("write the file", path_);
    } catch (const disk_error&) {
      put(offset, bytes.subspan(0, home_.random_.below(bytes.size() + 1)));
      throw;
    }
    const auto there = home_.bytes_available(path_).value_or(UINT64_MAX);
    if (growth_by(offset + bytes.size()) > there) {
      const auto size = file_->content.size() + there;
      put(offset, bytes.subspan(0, size > offset ? size - offset : 0));
      throw disk_error("write the file", path_, ENOSPC);
    }
    put(offset, bytes);
  }

  void reserve(uint64_t bytes) override {
    require_life();
    home_.begin_operation("reserve room for the file", path_);
    if (growth_by(bytes) > home_.bytes_available(path_).value_or(UINT64_MAX))
      throw disk_error("reserve room for the file", path_, ENOSPC);
  }

  void sync() override {
    require_life();
    home_.begin_operation("write the file to the disk", path_);
    file_->synced_bytes = file_->content.size();
  }

private:
  uint64_t growth_by(uint64_t end) const {
    return end - std::min<uint64_t>(end, file_->content.size());
  }

  void put(uint64_t offset, std::span<const std::byte> bytes) {
    if (bytes.empty())
      return;
    auto& content = file_->content;
    content.resize(std::max<size_t>(content.size(), offset + bytes.size()));
    std::ranges::copy(bytes, content.begin() + static_cast<std::ptrdiff_t>(offset));
    file_->synced_bytes = std::min<size_t>(file_->synced_bytes, offset);
  }

  void require_life() const {
    if (home_.life_ != life_)
      throw disk_error("write the file", path_, EIO);
  }

  simulated_disk& home_;
  file_ptr file_;
  std::string path_;
  uint64_t life_;
};

class simulated_disk::reader final : public disk_reader {
public:
  explicit reader(file_ptr what) : file_(std::move(what)) {}

  uint64_t size() const override { return file_->content.size(); }

  size_t read(uint64_t offset, std::span<std::byte> out) const override {
    const auto first = std::min<uint64_t>(offset, size());
    const auto count = std::min<uint64_t>(out.size(), size() - first);
    std::copy_n(file_->content.begin() + static_cast<std::ptrdiff_t>(first), count, out.begin());
    return count;
  }

private:
  file_ptr file_;
};

void simulated_disk::begin_operation(const std::string& operation, const std::string& path) {
  if (is_cut_)
    throw disk_error(operation, path, EIO);
  ++operations_;
  if (on_cut_ && until_cut_-- == 0) {
    is_cut_ = true;
    std::exchange(on_cut_, {})();
    throw disk_error(operation, path, EIO);
  }
  if (failing_ > 0) {
    --failing_;
    throw disk_error(operation, path, EIO);
  }
}

simulated_disk::file_ptr simulated_disk::find(const std::string& path) const {
  const auto found = names_.find(path);
  return found == names_.end() ? nullptr : found->second;
}

std::unique_ptr<disk_writer> simulated_disk::create(const std::string& path, uint32_t) {
  begin_operation("create a file in the folder", path);
  if (!folders_.contains(folder_of(path)))
    throw disk_error("create a file in the folder", path, ENOENT);
  if (find(path))
    throw disk_error("create a file in the folder", path, EEXIST);
  const auto what = std::make_shared<file>();
  names_[path] = what;
  unsynced_.push_back({{}, path, what});
  return std::make_unique<writer>(*this, what, path);
}

std::unique_ptr<disk_reader> simulated_disk::open(const std::string& path) const {
  if (is_cut_)
    throw disk_error("open the file", path, EIO);
  auto what = find(path);
  if (!what)
    throw disk_error("open the file", path, ENOENT);
  return std::make_unique<reader>(std::move(what));
}

void simulated_disk::rename(const std::string& from, const std::string& to) {
  begin_operation("rename the file", from);
  const auto what = find(from);
  if (!what)
    throw disk_error("rename the file", from, ENOENT);
  names_.erase(from);
  names_[to] = what;
  unsynced_.push_back({from, to, what});
}

void simulated_disk::remove(const std::string& path) {
  begin_operation("remove the file", path);
  const auto what = find(path);
  if (!what)
    throw disk_error("remove the file", path, ENOENT);
  names_.erase(path);
  unsynced_.push_back({path, {}, what});
}

std::vector<std::string> simulated_disk::list(const std::string& folder) const {
  if (is_cut_)
    throw disk_error("list the folder", folder, EIO);
  if (!folders_.contains(folder))
    throw disk_error("list the folder", folder, ENOENT);
  std::vector<std::string> result;
  for (const auto& [path, what] : names_)
    if (folder_of(path) == folder)
      result.push_back(path.substr(folder.size() + 1));
  return result;
}

void simulated_disk::sync_folder(const std::string& folder) {
  begin_operation("write the folder to the disk", folder);
  const auto is_inside = [&](const std::string& path) { return folder_of(path) == folder; };
  std::erase_if(surviving_names_, [&](const auto& entry) { return is_inside(entry.first); });
  for (const auto& [path, what] : names_)
    if (is_inside(path))
      surviving_names_[path] = what;
  std::erase_if(unsynced_, [&](const name_change& change) {
    return is_inside(change.to.empty() ? change.from : change.to);
  });
}

uint64_t simulated_disk::bytes_used() const {
  uint64_t result = 0;
  for (const auto& [path, what] : names_)
    result += what->content.size();
  return result;
}

std::optional<uint64_t> simulated_disk::bytes_available(const std::string&) const {
  if (!capacity_)
    return std::nullopt;
  return *capacity_ - std::min(*capacity_, bytes_used());
}

void simulated_disk::cut_power_after(size_t operations, std::function<void()> told) {
  until_cut_ = operations;
  on_cut_ = std::move(told);
}

void simulated_disk::lose_power() {
  close_all();
  for (const auto& change : unsynced_) {
    if (random_.chance(50))
      continue;
    if (!change.from.empty())
      surviving_names_.erase(change.from);
    if (!change.to.empty())
      surviving_names_[change.to] = change.what;
  }
  unsynced_.clear();
  names_ = surviving_names_;
  for (const auto& [path, what] : names_)
    tear(*what);
}

void simulated_disk::tear(file& x) {
  const auto unsynced = x.content.size() - x.synced_bytes;
  if (unsynced == 0)
    return;
  const size_t draws[] = {0, random_.below(unsynced + 1), unsynced};
  x.content.resize(x.synced_bytes + draws[random_.below(3)]);
  for (size_t at = x.synced_bytes; at < x.content.size(); at += sector_bytes)
    if (random_.chance(20))
      std::fill(x.content.begin() + static_cast<std::ptrdiff_t>(at),
                x.content.begin() +
                  static_cast<std::ptrdiff_t>(std::min(at + sector_bytes, x.content.size())),
                std::byte{0});
  x.synced_bytes = x.content.size();
}

bool simulated_disk::rot() {
  std::vector<file*> candidates;
  for (const auto& [path, what] : names_)
    if (!what->content.empty())
      candidates.push_back(what.get());
  if (candidates.empty())
    return false;
  auto& victim = candidates[random_.below(candidates.size())]->content;
  victim[random_.below(victim.size())] ^= static_cast<std::byte>(1 << random_.below(8));
  return true;
}

void simulated_disk::replace() {
  close_all();
  names_.clear();
  surviving_names_.clear();
  unsynced_.clear();
}

} // namespace troupe::simulation
