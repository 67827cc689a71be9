// What people read of the table of keys (coordinators/job/keys/job_keys.hpp): a job as TOML, the table
// in docs/jobs.md, and a key found by its last part.

#pragma once

#include "coordinators/job/keys/job_keys.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The path of the one key whose last part, or other name (models/keys/key_table.hpp), is `name`:
/// "epochs" -> "training.epochs". Nothing when there is none, or more than one.
std::optional<std::string> key_called(std::string_view name);

/// A job as TOML with every key, defaults included; a key that is decided when the job starts is a
/// comment that says how. Reading it gives an equal job, from whatever folder: a relative
/// `data.file` is written in full.
std::string job_text(const job& x);

/// The head of a table of keys in the documentation, as Markdown.
inline constexpr const char* keys_markdown_head =
  "| key | type | default | meaning |\n|---|---|---|---|\n";

/// Its line for one key: `value` is the default's text.
std::string key_markdown(const key_texts& key, const std::string& path, const std::string& words,
                         const std::optional<std::string>& value);

/// Its lines for all of a table; `outer` stands before their paths.
template <class Target>
std::string keys_markdown(const std::vector<key_row<Target>>& keys, const std::string& outer = {}) {
  const Target defaults;
  std::string result;
  for (const auto& key : keys)
    result += key_markdown(key, outer + key.path, key.words(), key.get(defaults));
  return result;
}

/// The table of keys in docs/jobs.md, as Markdown.
std::string job_keys_markdown();

} // namespace troupe
