// How the schema writes: a job as TOML, and the keys as a table for the documentation.

#include "troupe/app/job/job_schema.hpp"

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
  std::vector<std::string*> files{&x.data.file, &x.data.labels_file, &x.data.test_file,
                                  &x.data.validation_file, &x.privacy.key_file};
  if (x.federated.partition == partition_kind::files)
    files.push_back(&x.federated.clients_from);
  for (auto* file : files)
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

std::string job_text(const job& x) {
  const job full = with_full_paths(x);
  std::string result;
  std::string section;
  for (const auto& key : job_schema()) {
    if (section_of(key.path) != section) {
      result += result.empty() ? "[" : "\n[";
      result += (section = section_of(key.path)) + "]\n";
    }
    const auto text = key.get(full);
    result += text ? name_of_key(key.path) + " = " + *text
                   : "# " + name_of_key(key.path) + ": " + key.fallback;
    result += '\n';
  }
  return result;
}

std::string job_keys_markdown() {
  const job defaults;
  std::string result = "| key | type | default | meaning |\n|---|---|---|---|\n";
  for (const auto& key : job_schema()) {
    const auto text = key.get(defaults);
    const std::string by_default =
      key.fallback.empty() && text ? "`" + cell(*text) + "`" : cell(key.fallback);
    result += "| `" + key.path + "` | " + cell(key.type) + " | " + by_default + " | " +
              cell(key.meaning) + " |\n";
  }
  return result;
}

} // namespace troupe
