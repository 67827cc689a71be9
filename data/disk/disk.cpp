#include "data/disk/disk.hpp"

#include "data/disk/open_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace troupe {

namespace {

class posix_writer : public disk_writer {
public:
  posix_writer(std::string path, open_file file) : path_(std::move(path)), file_(std::move(file)) {}

  void write(uint64_t offset, std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const auto count =
        ::pwrite(file_.number(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (count < 0 && errno == EINTR)
        continue;
      if (count < 0)
        throw disk_error("write the file", path_, errno);
      offset += static_cast<uint64_t>(count);
      bytes = bytes.subspan(static_cast<size_t>(count));
    }
  }

  void reserve(uint64_t bytes) override {
    if (bytes == 0)
      return;
    reserves_ = ::fallocate(file_.number(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) == 0;
    if (reserves_)
      return;
    const bool is_full = errno == ENOSPC || errno == EDQUOT;
    if (is_full || bytes_available_in(folder_of(path_)).value_or(bytes) < bytes)
      throw disk_error("reserve room for the file", path_, is_full ? errno : ENOSPC);
  }

  bool set_mode(uint32_t mode) override { return ::fchmod(file_.number(), mode) == 0; }

  bool link(const std::string& path) override {
    if (::linkat(AT_FDCWD, descriptor_path(file_).c_str(), AT_FDCWD, path.c_str(),
                 AT_SYMLINK_FOLLOW) == 0)
      return true;
    if (errno != EEXIST)
      throw disk_error("give the file its name", path, errno);
    return false;
  }

  void sync() override {
    if (reserves_ && ::ftruncate(file_.number(), ::lseek(file_.number(), 0, SEEK_END)) != 0)
      throw disk_error("give back the room that was too much", path_, errno);
    if (::fsync(file_.number()) != 0)
      throw disk_error("bring the file to the disk", path_, errno);
  }

  static std::string descriptor_path(const open_file& file) {
    return "/proc/self/fd/" + std::to_string(file.number());
  }

private:
  std::string path_; ///< of a file without a name one in its folder
  open_file file_;
  bool reserves_ = false;
};

class posix_reader : public disk_reader {
public:
  explicit posix_reader(std::string path)
    : path_(std::move(path)), file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat status {};
    if (!file_ || ::fstat(file_.number(), &status) != 0)
      throw disk_error("open the file", path_, errno);
    if (!S_ISREG(status.st_mode)) // a pipe has no size, a folder no bytes
      throw disk_error("open the file", path_, S_ISDIR(status.st_mode) ? EISDIR : EINVAL);
    size_ = static_cast<uint64_t>(status.st_size);
  }

  uint64_t size() const override { return size_; }

  size_t read(uint64_t offset, std::span<std::byte> out) const override {
    if (const auto count = read_at(file_, offset, out))
      return *count;
    throw disk_error("read the file", path_, errno);
  }

private:
  std::string path_;
  open_file file_;
  uint64_t size_ = 0;
};

class real_disk : public disk {
public:
  std::unique_ptr<disk_writer> create(const std::string& path, uint32_t mode) override {
    open_file file{::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)};
    if (!file)
      throw disk_error("create a file in the folder", path, errno);
    return std::make_unique<posix_writer>(path, std::move(file));
  }

  // A name is given by way of /proc.
  std::unique_ptr<disk_writer> create_nameless(const std::string& folder, uint32_t mode) override {
    open_file file{::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode)};
    if (!file || ::access(posix_writer::descriptor_path(file).c_str(), F_OK) != 0)
      return {};
    return std::make_unique<posix_writer>(folder + "/", std::move(file));
  }

  std::unique_ptr<disk_reader> open(const std::string& path) const override {
    return std::make_unique<posix_reader>(path);
  }

  void rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0)
      throw disk_error("give the file its name", to, errno);
  }

  void remove(const std::string& path) override {
    if (::unlink(path.c_str()) != 0)
      throw disk_error("remove the file", path, errno);
  }

  std::vector<std::string> list(const std::string& folder) const override {
    const std::unique_ptr<DIR, int (*)(DIR*)> open_folder{::opendir(folder.c_str()), ::closedir};
    if (!open_folder)
      throw disk_error("list the folder", folder, errno);
    std::vector<std::string> result;
    errno = 0; // only this tells the end from a failure
    while (const auto* entry = ::readdir(open_folder.get())) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..")
        result.push_back(name);
    }
    if (errno != 0)
      throw disk_error("list the folder", folder, errno);
    std::sort(result.begin(), result.end());
    return result;
  }

  void sync_folder(const std::string& folder) override {
    const open_file open_folder{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (!open_folder && errno == EACCES)
      return; // it may be written but not read: nothing more can be done
    if (!open_folder)
      throw disk_error("open the folder", folder, errno);
    if (!sync_names(open_folder))
      throw disk_error("bring the folder to the disk", folder, errno);
  }

  std::optional<uint64_t> bytes_available(const std::string& folder) const override {
    return bytes_available_in(folder);
  }
};

} // namespace

disk_error::disk_error(std::string operation, std::string path, int error_number)
  : std::runtime_error(path + ": cannot " + operation + " (" +
                       std::generic_category().message(error_number) + ")"),
    operation_(std::move(operation)),
    path_(std::move(path)),
    error_number_(error_number) {}

std::shared_ptr<disk> posix_disk() {
  return std::make_shared<real_disk>();
}

} // namespace troupe
