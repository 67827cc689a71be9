#include "data/formats/text/vocabulary.hpp"

#include "data/text/utf8.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string_view>

namespace troupe {

bool are_characters(const std::vector<std::string>& names) {
  const auto is_character = [](const std::string& name) {
    return !name.empty() && utf8_bytes(name) == name.size();
  };
  const std::set<std::string_view> distinct{names.begin(), names.end()};
  return std::ranges::all_of(names, is_character) && distinct.size() == names.size();
}

vocabulary::vocabulary(std::span<const char32_t> text) {
  std::vector<bool> seen(code_point_end);
  for (const auto character : text)
    seen[character] = true;
  for (char32_t character = 0; character < code_point_end; ++character)
    if (seen[character]) {
      numbers_.resize(character + 1);
      numbers_[character] = static_cast<uint32_t>(names_.size());
      names_.push_back(utf8_of(character));
    }
  for (char32_t character = 0; character < numbers_.size(); ++character)
    if (!seen[character])
      numbers_[character] = static_cast<uint32_t>(names_.size());
}

vocabulary::vocabulary(const std::vector<std::string>& names) : names_(names) {
  if (!are_characters(names))
    throw std::invalid_argument("vocabulary: a name is not one character, or comes twice");
  const auto none = static_cast<uint32_t>(names.size());
  for (uint32_t number = 0; number < none; ++number) {
    const auto character = code_point_of(names[number]);
    if (character >= numbers_.size())
      numbers_.resize(character + 1, none);
    numbers_[character] = number;
  }
}

} // namespace troupe
