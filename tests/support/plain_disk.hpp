// A disk in memory for tests of one thing at a time: it counts what is done to it, and fails at the
// operation it is told to. It forgets nothing; crashes are for other tests.

#pragma once

#include "data/disk/disk.hpp"

#include <algorithm>
#include <cerrno>
#include <map>

namespace troupe {

class plain_disk : public disk {
public:
  std::map<std::string, std::vector<std::byte>> files;
  std::vector<std::string> log; ///< "write", "sync" and so on, in order
  std::string failing;          ///< the operation that fails ...
  int error_number = EIO;       ///< ... with this ...
  size_t passes = 0;            ///< ... after so many that pass
  uint64_t room = 1000;         ///< answer of bytes_available

  std::unique_ptr<disk_writer> create(const std::string& path, uint32_t = 0666) override {
    note("create", path);
    if (files.contains(path))
      throw disk_error("create a file in the folder", path, EEXIST);
    files[path];
    return std::make_unique<writer>(*this, path);
  }

  std::unique_ptr<disk_reader> open(const std::string& path) const override {
    if (!files.contains(path))
      throw disk_error("open the file", path, ENOENT);
    return std::make_unique<reader>(files.at(path));
  }

  void rename(const std::string& from, const std::string& to) override {
    note("rename", to);
    files[to] = std::move(files.at(from));
    files.erase(from);
  }

  void remove(const std::string& path) override {
    note("remove", path);
    if (files.erase(path) == 0)
      throw disk_error("remove the file", path, ENOENT);
  }

  std::vector<std::string> list(const std::string& folder) const override {
    std::vector<std::string> result;
    for (const auto& [path, content] : files)
      if (path.starts_with(folder + "/"))
        result.push_back(path.substr(folder.size() + 1));
    return result;
  }

  void sync_folder(const std::string& folder) override { note("sync_folder", folder); }

  std::optional<uint64_t> bytes_available(const std::string&) const override { return room; }

private:
  struct writer : disk_writer {
    writer(plain_disk& where, std::string path) : home(where), name(std::move(path)) {}
    void write(uint64_t offset, std::span<const std::byte> bytes) override {
      home.note("write", name);
      auto& content = home.files.at(name);
      content.resize(std::max<size_t>(content.size(), offset + bytes.size()));
      std::ranges::copy(bytes, content.begin() + static_cast<std::ptrdiff_t>(offset));
    }
    void reserve(uint64_t) override { home.note("reserve", name); }
    void sync() override { home.note("sync", name); }

    plain_disk& home;
    std::string name;
  };

  struct reader : disk_reader {
    explicit reader(const std::vector<std::byte>& bytes) : content(bytes) {}
    uint64_t size() const override { return content.size(); }
    size_t read(uint64_t offset, std::span<std::byte> out) const override {
      const auto first = std::min<uint64_t>(offset, content.size());
      const auto count = std::min<uint64_t>(out.size(), content.size() - first);
      std::copy_n(content.begin() + static_cast<std::ptrdiff_t>(first), count, out.begin());
      return count;
    }

    std::vector<std::byte> content;
  };

  void note(const std::string& operation, const std::string& path) {
    if (log.empty() || log.back() != operation)
      log.push_back(operation);
    if (operation == failing && passes-- == 0)
      throw disk_error("do it", path, error_number);
  }
};

} // namespace troupe
