#include "troupe/app/cluster/director_address.hpp"

#include "troupe/data/disk/atomic_file.hpp"
#include "troupe/data/text/failure.hpp"

#include <filesystem>
#include <fstream>

namespace troupe {

namespace {

std::string path_in(const std::string& directory) {
  return (std::filesystem::path{directory} / director_address_name).string();
}

} // namespace

told_address::told_address(const std::string& directory, const std::string& address)
  : path_(path_in(directory)) {
  write_file_atomically(path_, address + '\n');
}

told_address::~told_address() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

std::string read_director_address(const std::string& directory) {
  const auto path = path_in(directory);
  std::ifstream in{path};
  std::string result;
  if (!std::getline(in, result) || result.empty())
    throw failure(failure_code::unavailable,
                  "no director tells its port here: the cluster is not running, or was started in "
                  "another folder",
                  path, "ask from the folder that it was started in, or give the director a port");
  return result;
}

} // namespace troupe
