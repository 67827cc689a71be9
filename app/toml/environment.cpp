#include "troupe/app/toml/environment.hpp"

#include <unistd.h>

namespace troupe {

environment process_environment() {
  environment result;
  for (char** variable = environ; variable && *variable; ++variable) {
    const std::string text = *variable;
    if (const size_t equals = text.find('='); equals != std::string::npos)
      result.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return result;
}

} // namespace troupe
