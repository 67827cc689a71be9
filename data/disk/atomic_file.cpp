#include "troupe/data/disk/atomic_file.hpp"

#include "troupe/data/disk/disk_failure.hpp"
#include "troupe/data/disk/open_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <utility>

namespace troupe {

namespace {

/// Bytes free for us on the disk of `folder`; what the unfinished file holds is free again soon.
std::optional<uint64_t> bytes_available(const std::string& folder, const open_file& unfinished) {
  auto bytes = bytes_available_in(folder);
  struct stat file {};
  if (bytes && unfinished && ::fstat(unfinished.number(), &file) == 0)
    *bytes += static_cast<uint64_t>(file.st_blocks) * 512; // POSIX counts in these
  return bytes;
}

/// One file on its way to its name. Destroying it before `publish` leaves nothing of it.
///
/// Where the file system can, the file has no name at all until it is whole: then the kernel
/// removes it with the process, however that ends, and no handler of signals has to know of it.
/// Elsewhere (NFS) it has a temporary name, which a process that is killed leaves behind.
class unfinished_file {
public:
  unfinished_file(std::string path, uint64_t bytes_needed)
    : path_(std::move(path)), bytes_needed_(bytes_needed) {
    look_at_old_file();
    if (!create_nameless())
      create_temporary();
  }
  ~unfinished_file() {
    if (!published_ && !temporary_.empty())
      ::unlink(temporary_.c_str());
  }
  unfinished_file(const unfinished_file&) = delete;
  unfinished_file& operator=(const unfinished_file&) = delete;

  /// Takes room on the disk now. Throws when there is too little; where the file system cannot
  /// reserve, nothing is taken.
  void reserve() {
    const auto size = static_cast<off_t>(bytes_needed_);
    reserves_ = size > 0 && ::fallocate(file_.number(), FALLOC_FL_KEEP_SIZE, 0, size) == 0;
    if (reserves_ || size == 0)
      return;
    if (errno == ENOSPC || errno == EDQUOT)
      fail("cannot reserve room for the file", errno);
    const auto there = bytes_available(folder_of(path_), file_);
    if (there && *there < bytes_needed_)
      fail("cannot reserve room for the file", ENOSPC);
  }

  /// Whether nobody sees the file yet.
  bool is_nameless() const { return temporary_.empty(); }

  /// How much there is to write, for messages.
  void need(uint64_t bytes) { bytes_needed_ = bytes; }

  void write(std::span<const std::byte> bytes) {
    if (!write_all(file_, bytes))
      fail("cannot write the file", errno);
  }

  /// Content whose size was not known when the file was begun.
  void append(std::span<const std::byte> bytes) {
    bytes_needed_ += bytes.size();
    write(bytes);
  }

  void write_at(uint64_t offset, std::span<const std::byte> bytes) {
    bytes_needed_ = std::max(bytes_needed_, offset + bytes.size());
    if (::lseek(file_.number(), static_cast<off_t>(offset), SEEK_SET) < 0)
      fail("cannot go to a place in the file", errno);
    write(bytes);
  }

  void to_start() {
    if (::lseek(file_.number(), 0, SEEK_SET) != 0)
      fail("cannot go to the start of the file", errno);
  }

  void publish() {
    if (reserves_ && ::ftruncate(file_.number(), ::lseek(file_.number(), 0, SEEK_END)) != 0)
      fail("cannot give back the room that was too much", errno);
    if (::fsync(file_.number()) != 0)
      fail("cannot bring the file to the disk", errno);
    const bool has_its_name = temporary_.empty() && link_nameless();
    if (!file_.close())
      fail("cannot close the file", errno);
    if (!has_its_name && ::rename(temporary_.c_str(), path_.c_str()) != 0)
      fail("cannot give the file its name", errno);
    published_ = true;
    sync_folder();
  }

private:
  /// A rename would put a plain file where a folder or device was, or fail after all the writing.
  void look_at_old_file() {
    struct stat information {};
    if (::stat(path_.c_str(), &information) != 0)
      return;
    if (!S_ISREG(information.st_mode))
      throw failure(failure_code::cannot_create, "there is something that is not a file", path_,
                    "name a file to write");
    old_mode_ = information.st_mode & 0777;
  }

  /// False where this cannot be done, or not be ended: a name is given by way of /proc.
  bool create_nameless() {
#ifdef O_TMPFILE
    file_ = open_file{::open(folder_of(path_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666)};
    if (file_ && ::access(descriptor_path().c_str(), F_OK) != 0)
      file_.close();
    if (file_ && old_mode_)
      ::fchmod(file_.number(), *old_mode_);
#endif
    return static_cast<bool>(file_);
  }

  std::string descriptor_path() const {
    return "/proc/self/fd/" + std::to_string(file_.number());
  }

  bool link_to(const std::string& name) const {
    return ::linkat(AT_FDCWD, descriptor_path().c_str(), AT_FDCWD, name.c_str(),
                    AT_SYMLINK_FOLLOW) == 0;
  }

  /// Gives the nameless file its name, or, where another file has that, a temporary one to be
  /// renamed: a link replaces nothing. Returns whether it was the right one.
  bool link_nameless() {
    if (link_to(path_))
      return true;
    while (errno == EEXIST) {
      auto name = next_temporary();
      if (link_to(name)) {
        temporary_ = std::move(name);
        return false;
      }
    }
    fail("cannot give the file its name", errno);
  }

  std::string next_temporary() const {
    static std::atomic<uint64_t> counter{0};
    return path_ + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
  }

  /// Not mkstemp: its files are private, and a new file here has the permissions of any other.
  void create_temporary() {
    do {
      temporary_ = next_temporary();
      file_ = open_file{::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)};
    } while (!file_ && errno == EEXIST); // left by a process that was killed
    if (!file_)
      fail("cannot create a file in the folder", errno);
    if (old_mode_)
      ::fchmod(file_.number(), *old_mode_);
  }

  /// After this the name itself survives a power failure.
  void sync_folder() const {
    const open_file folder{::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    // A folder that may be written but not read: nothing more can be done.
    if (folder && !sync_names(folder))
      fail("cannot bring the folder to the disk", errno);
  }

  [[noreturn]] void fail(const std::string& what, int error_number) const {
    throw writing_failure({what, path_, error_number},
                          {bytes_needed_, bytes_available(folder_of(path_), file_)});
  }

  std::string path_;
  std::string temporary_; ///< empty while the file has no name
  uint64_t bytes_needed_;
  std::optional<mode_t> old_mode_; ///< permissions of the file to be replaced
  open_file file_;
  bool reserves_ = false;
  bool published_ = false;
};

uint64_t bytes_of(std::span<const std::span<const std::byte>> pieces) {
  uint64_t bytes = 0;
  for (auto piece : pieces)
    bytes += piece.size();
  return bytes;
}

std::function<void(const byte_sink&)> giving(std::span<const std::span<const std::byte>> pieces) {
  return [pieces](const byte_sink& to) {
    for (auto piece : pieces)
      to(piece);
  };
}

} // namespace

void write_file_atomically(const std::string& path, uint64_t bytes,
                           const std::function<void(const byte_sink&)>& make) {
  unfinished_file file(path, bytes);
  make([&](std::span<const std::byte> part) { file.write(part); });
  file.publish();
}

void write_file_atomically(const std::string& path,
                           std::span<const std::span<const std::byte>> pieces) {
  write_file_atomically(path, bytes_of(pieces), giving(pieces));
}

void write_file_atomically(const std::string& path, std::span<const std::byte> content) {
  std::array<std::span<const std::byte>, 1> pieces{content};
  write_file_atomically(path, pieces);
}

void write_file_atomically(const std::string& path, std::string_view content) {
  write_file_atomically(path, std::as_bytes(std::span(content)));
}

struct reserved_file::state {
  unfinished_file file;
};

reserved_file::reserved_file(std::string path, uint64_t bytes)
  : path_(std::move(path)), state_(new state{unfinished_file{path_, bytes}}) {
  state_->file.reserve();
  if (!state_->file.is_nameless())
    state_.reset(); // nobody is to see an empty file for hours, or ever
}

reserved_file::~reserved_file() = default;

void reserved_file::write(std::span<const std::span<const std::byte>> pieces) {
  write(bytes_of(pieces), giving(pieces));
}

void reserved_file::write(uint64_t bytes, const std::function<void(const byte_sink&)>& make) {
  const auto room = std::exchange(state_, {});
  if (!room)
    return write_file_atomically(path_, bytes, make);
  room->file.need(bytes);
  make([&](std::span<const std::byte> part) { room->file.write(part); });
  room->file.publish();
}

struct atomic_file::state {
  unfinished_file file;
};

atomic_file::atomic_file(const std::string& path) : state_(new state{unfinished_file{path, 0}}) {}
atomic_file::~atomic_file() = default;
atomic_file::atomic_file(atomic_file&&) noexcept = default;
atomic_file& atomic_file::operator=(atomic_file&&) noexcept = default;

void atomic_file::append(std::span<const std::byte> bytes) {
  state_->file.append(bytes);
}

void atomic_file::append(std::string_view text) {
  append(std::as_bytes(std::span(text)));
}

void atomic_file::write_at(uint64_t offset, std::span<const std::byte> bytes) {
  state_->file.write_at(offset, bytes);
}

void atomic_file::rewrite_start(std::span<const std::byte> bytes) {
  state_->file.to_start();
  state_->file.write(bytes);
}

void atomic_file::publish() {
  state_->file.publish();
}

} // namespace troupe
