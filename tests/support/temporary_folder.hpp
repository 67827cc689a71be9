// A folder of a test's own: made on construction, removed with everything in it on destruction.
//
//   temporary_folder folder;
//   auto path = folder.write("rows.csv", "1,2\n");

#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace troupe {

class temporary_folder {
public:
  /// Throws std::runtime_error when the folder cannot be made.
  temporary_folder() {
    auto pattern = (std::filesystem::temp_directory_path() / "troupe-test-XXXXXX").string();
    if (!mkdtemp(pattern.data()))
      throw std::runtime_error("temporary folder: cannot create " + pattern);
    path_ = pattern;
  }
  ~temporary_folder() {
    std::error_code ignored; // a folder left behind is no reason to end the test program
    std::filesystem::remove_all(path_, ignored);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;

  const std::string& path() const noexcept { return path_; }

  /// The path of `name` in this folder, whether or not there is such a file.
  std::string path(std::string_view name) const { return path_ + "/" + std::string(name); }

  /// Writes `content` to the file `name`, replacing what was there, and returns its path.
  std::string write(std::string_view name, std::string_view content) const {
    auto file_path = path(name);
    std::ofstream out(file_path, std::ios::binary | std::ios::trunc);
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    out.close();
    if (!out)
      throw std::runtime_error("temporary folder: cannot write " + file_path);
    return file_path;
  }

  /// The whole content of the file `name`. Throws std::runtime_error when it cannot be read.
  std::string read(std::string_view name) const {
    std::ifstream in(path(name), std::ios::binary);
    if (!in)
      throw std::runtime_error("temporary folder: cannot read " + path(name));
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  /// Whether there is a file or folder called `name`.
  bool has(std::string_view name) const { return std::filesystem::exists(path(name)); }

private:
  std::string path_;
};

} // namespace troupe
