// A model file while it is being understood: looks up what its metadata say, and refuses with file and name. Which model
// that makes, saved_model.cpp says.

#pragma once

#include "data/model_file/safetensors.hpp"
#include "data/text/shown_text.hpp"
#include "models/base/names.hpp"
#include "models/kinds/added_kinds.hpp"

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// What is missing or wrong throws failure(bad_data).
struct model_source {
  const std::string& path;
  const safetensors_file& file;

  [[noreturn]] void refuse(const std::string& reason) const;

  /// Null when there is none.
  const std::string* find(const std::string& key) const;
  const std::string& text(const std::string& key) const;

  template <class Enum>
  Enum choice(const std::string& key) const {
    const auto& name = text(key);
    if (const auto value = from_name<Enum>(name))
      return *value;
    refuse("the metadata's '" + key + "' is " + shown_text(name) +
           ", which is none of: " + all_names<Enum>());
  }

  /// A JSON array of texts.
  std::vector<std::string> names(const std::string& key) const;

  /// Numbers as hexadecimal bits of float32, one for each of the model's `count` features or
  /// classes, all finite.
  std::vector<float> floats(const std::string& key, size_t count, const char* of) const;

  /// A number above 0 as hexadecimal bits of float64.
  double positive(const std::string& key) const;

  /// A kind that an application adds ("a model") with its options, a JSON object, as this program has them. Throws
  /// failure(mismatch) when it has no such kind (`known` is null), or another version of it.
  component own_kind(const kind_entry* known, const std::string& what, const std::string& kind,
                     const std::string& version, const std::string& options) const;

  /// The value of this name, as the key has it: one of the library's, or one that is added and stands under 'added' with
  /// its version and options.
  template <class Enum, class Made>
  Enum value(added_kinds<Enum, Made>& table, const std::string& key,
             const std::string& name) const {
    for (const auto& [own, known] : name_table<Enum>::entries)
      if (known == name)
        return own;
    const auto added = added_as(key, name);
    if (!added)
      refuse("the metadata's '" + key + "' is " + shown_text(name) +
             ", which is none of: " + all_names<Enum>());
    const auto what = own_kind(table.find(name), key == "loss" ? "a loss" : "an activation", name,
                               added->first, added->second);
    try {
      return table.value(what);
    } catch (const std::invalid_argument& problem) {
      refuse("the metadata's 'added': " + name + ": " + problem.what());
    }
  }

  /// Version and options of a kind under 'added'.
  std::optional<std::pair<std::string, std::string>> added_as(const std::string& table,
                                                              const std::string& kind) const;
};

} // namespace troupe
