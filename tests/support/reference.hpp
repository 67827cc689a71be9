// Numbers from elsewhere: the JSON files in tests/reference, made by the scripts beside them.

#pragma once

#include <nlohmann/json.hpp>

#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace troupe::test {

inline nlohmann::json load_reference(const std::string& name) {
  const auto path = std::string{TROUPE_SOURCE_DIR} + "/tests/reference/" + name;
  std::ifstream file{path};
  if (!file)
    throw std::runtime_error("cannot open " + path);
  return nlohmann::json::parse(file);
}

/// The numbers of a possibly nested array, row by row.
template <class T>
void append_flat(const nlohmann::json& array, std::vector<T>& out) {
  for (const auto& element : array) {
    if (element.is_array())
      append_flat(element, out);
    else
      out.push_back(element.get<T>());
  }
}

template <class T>
std::vector<T> flat(const nlohmann::json& array) {
  std::vector<T> result;
  append_flat(array, result);
  return result;
}

} // namespace troupe::test
