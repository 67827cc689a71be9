// How the schema writes: a job as TOML, and the keys as a table for the documentation.

#include "app/job/job_text.hpp"

#include "models/keys/key_table.hpp"

#include <filesystem>

namespace troupe {

namespace {

std::string section_of(const std::string& path) {
  return path.substr(0, path.rfind('.'));
}

std::string name_of_key(const std::string& path) {
  return path.substr(path.rfind('.') + 1);
}

// A job file may be read from another folder than it was written for.
job with_full_paths(job x) {
  for (const auto& [key, file] : files_of(x))
    if (!file->empty())
      *file = std::filesystem::absolute(*file).lexically_normal().string();
  return x;
}

// A cell of a Markdown table: a bare '|' would end it.
std::string cell(const std::string& text) {
  std::string result;
  for (const char c : text)
    result += c == '|' ? "\\|" : std::string(1, c);
  return result;
}

} // namespace

std::optional<std::string> key_called(std::string_view name) {
  if (const auto other = other_name_of(name); other && !other->key.empty())
    return std::string{other->key};
  std::optional<std::string> result;
  for (const auto& key : job_keys()) {
    if (!key.path.ends_with("." + std::string{name}))
      continue;
    if (result)
      return std::nullopt;
    result = key.path;
  }
  return result;
}

std::string job_text(const job& x) {
  const job full = with_full_paths(x);
  std::string result;
  std::string section;
  for (const auto& key : job_keys()) {
    if (section_of(key.path) != section) {
      result += result.empty() ? "[" : "\n[";
      result += (section = section_of(key.path)) + "]\n";
    }
    const auto text = key.get(full);
    result += text ? name_of_key(key.path) + " = " + *text
                   : "# " + name_of_key(key.path) + ": " + key.unset;
    result += '\n';
  }
  return result;
}

std::string key_markdown(const key_texts& key, const std::string& path, const std::string& words,
                         const std::optional<std::string>& value) {
  const bool is_quoted = words.starts_with('"') && words.find('|') == std::string::npos;
  const auto by_default = key.unset.empty() && value ? "`" + cell(*value) + "`" : cell(key.unset);
  return "| `" + path + "` | " + (is_quoted ? "`" + words + "`" : cell(words)) + " | " +
         by_default + " | " + cell(key.meaning) + " |\n";
}

std::string job_keys_markdown() {
  return keys_markdown_head + keys_markdown(job_keys());
}

} // namespace troupe
