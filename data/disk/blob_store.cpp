#include "data/disk/blob_store.hpp"

#include "models/base/copy_values.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <map>
#include <utility>

namespace troupe {

namespace {

using bytes_of_file = std::vector<std::byte>;

class memory_writer final : public disk_writer {
public:
  explicit memory_writer(std::shared_ptr<bytes_of_file> file) : file_(std::move(file)) {}

  void write(uint64_t offset, std::span<const std::byte> bytes) override {
    file_->resize(std::max<size_t>(file_->size(), offset + bytes.size()));
    copy_values(bytes, file_->begin() + static_cast<std::ptrdiff_t>(offset));
  }
  void reserve(uint64_t bytes) override { file_->reserve(bytes); }
  void sync() override {}

private:
  std::shared_ptr<bytes_of_file> file_;
};

class memory_reader final : public disk_reader {
public:
  explicit memory_reader(std::shared_ptr<const bytes_of_file> file) : file_(std::move(file)) {}

  uint64_t size() const override { return file_->size(); }
  size_t read(uint64_t offset, std::span<std::byte> out) const override {
    if (offset >= file_->size())
      return 0;
    const auto rest = std::span{*file_}.subspan(offset);
    const auto count = std::min(rest.size(), out.size());
    copy_values(rest.first(count), out.begin());
    return count;
  }

private:
  std::shared_ptr<const bytes_of_file> file_;
};

/// What the application throws, as the disk's error with its text.
template <class Call>
auto asked(const char* operation, const std::string& path, Call call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& problem) {
    throw disk_error(operation + std::string{" ("} + problem.what() + ")", path, EIO);
  }
}

class blob_disk final : public disk {
public:
  explicit blob_disk(std::shared_ptr<blob_store> store) : store_(std::move(store)) {}

  std::unique_ptr<disk_writer> create(const std::string& path, uint32_t) override {
    if (written_.contains(path) || is_kept(path))
      throw disk_error("create the object", path, EEXIST);
    const auto& file = written_[path] = std::make_shared<bytes_of_file>();
    return std::make_unique<memory_writer>(file);
  }
  std::unique_ptr<disk_reader> open(const std::string& path) const override {
    if (const auto found = written_.find(path); found != written_.end())
      return std::make_unique<memory_reader>(found->second);
    auto bytes = asked("get the object", path, [&] { return store_->get(path); });
    if (!bytes)
      throw disk_error("get the object", path, ENOENT);
    return std::make_unique<memory_reader>(std::make_shared<bytes_of_file>(*std::move(bytes)));
  }
  void rename(const std::string& from, const std::string& to) override {
    const auto found = written_.find(from);
    if (found == written_.end())
      throw disk_error("put the object", from, ENOENT); // those with a name keep it
    asked("put the object", to, [&] { return store_->put(to, *found->second), 0; });
    written_.erase(found);
  }
  void remove(const std::string& path) override {
    if (written_.erase(path) > 0)
      return;
    if (!is_kept(path))
      throw disk_error("erase the object", path, ENOENT);
    asked("erase the object", path, [&] { return store_->erase(path), 0; });
  }
  std::vector<std::string> list(const std::string& folder) const override {
    const auto beginning = folder.ends_with('/') ? folder : folder + '/';
    auto paths = asked("list the objects", folder, [&] { return store_->list(beginning); });
    for (const auto& [path, file] : written_)
      paths.push_back(path);
    std::vector<std::string> result;
    for (const auto& path : paths)
      if (path.starts_with(beginning) && path.find('/', beginning.size()) == path.npos)
        result.push_back(path.substr(beginning.size()));
    std::ranges::sort(result);
    return result;
  }
  void sync_folder(const std::string&) override {}
  std::optional<uint64_t> bytes_available(const std::string&) const override {
    return std::nullopt;
  }

private:
  bool is_kept(const std::string& path) const {
    const auto names = asked("list the objects", path, [&] { return store_->list(path); });
    return std::ranges::find(names, path) != names.end();
  }

  std::shared_ptr<blob_store> store_;
  std::map<std::string, std::shared_ptr<bytes_of_file>> written_; ///< have no name yet
};

} // namespace

std::shared_ptr<disk> disk_of(std::shared_ptr<blob_store> store) {
  return std::make_shared<blob_disk>(std::move(store));
}

} // namespace troupe
