#include "data/privacy/release_ledger.hpp"

#include "data/text/failure.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace troupe {

namespace {

constexpr std::string_view header = "round,attempt,sampling_rate,noise,epsilon\n";

template <class Number>
void append(std::string& out, Number value) {
  std::array<char, 32> digits{};
  out.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

std::string line_of(const privacy_release& x) {
  std::string result;
  append(result, x.round);
  append(result += ',', x.attempt);
  append(result += ',', x.sampling_rate);
  append(result += ',', x.noise);
  append(result += ',', x.epsilon);
  return result + '\n';
}

/// The number up to the next comma, or the end of the line.
template <class Number>
bool take(std::string_view& line, Number& value) {
  const auto end = std::min(line.find(','), line.size());
  const auto [rest, error] = std::from_chars(line.data(), line.data() + end, value);
  if (error != std::errc{} || rest != line.data() + end)
    return false;
  line.remove_prefix(std::min(end + 1, line.size()));
  return true;
}

/// Nothing unless it is the line of a release, to the letter.
std::optional<privacy_release> release_of(std::string_view line) {
  privacy_release result;
  auto rest = line;
  if (!take(rest, result.round) || !take(rest, result.attempt) ||
      !take(rest, result.sampling_rate) || !take(rest, result.noise) ||
      !take(rest, result.epsilon) || line_of(result) != std::string{line} + '\n')
    return std::nullopt;
  return result;
}

[[noreturn]] void cannot(const char* what, const std::string& path, size_t bytes) {
  throw writing_failure({what, path, errno}, {bytes, bytes_available_in(folder_of(path))});
}

} // namespace

release_ledger::release_ledger(std::string path)
  : path_(std::move(path)),
    file_(::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
  if (!file_)
    cannot("cannot open the ledger of releases", path_, header.size());
  read();
}

void release_ledger::begin_file() {
  const open_file folder{::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (::ftruncate(file_.number(), 0) != 0 || !write_all(file_, std::as_bytes(std::span{header})) ||
      ::fsync(file_.number()) != 0 || !folder || !sync_names(folder))
    cannot("cannot begin the ledger of releases", path_, header.size());
}

void release_ledger::read() {
  std::string text;
  std::array<char, 1 << 16> some{};
  for (auto size = some.size(); size == some.size();) {
    const auto count = read_at(file_, text.size(), std::as_writable_bytes(std::span{some}));
    if (!count)
      throw reading_failure({"cannot read the ledger of releases", path_, errno});
    size = *count;
    text.append(some.data(), size);
  }
  const auto whole = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  if (whole == 0 && header.starts_with(text)) // new, or a crash while it was begun
    return begin_file();
  std::string_view rest{text.data(), whole};
  for (size_t number = 1; !rest.empty(); ++number) {
    const auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() + 1);
    if (number == 1 && line == header.substr(0, header.size() - 1))
      continue;
    const auto release = number == 1 ? std::nullopt : release_of(line);
    if (!release)
      throw failure(failure_code::bad_data, "this is no line of a ledger of releases",
                    path_ + ": line " + std::to_string(number),
                    "without it nobody knows what was released: begin anew with another key");
    releases_.push_back(*release);
  }
  if (releases_.empty() && whole == 0)
    throw failure(failure_code::bad_data, "this is no ledger of releases", path_,
                  "give the run a folder of its own");
  if (whole < text.size() &&
      (::ftruncate(file_.number(), static_cast<off_t>(whole)) != 0 || ::fsync(file_.number()) != 0))
    cannot("cannot mend the ledger of releases", path_, 0);
}

uint64_t release_ledger::next_attempt(uint64_t round) const {
  uint64_t result = 0;
  for (const auto& x : releases_)
    if (x.round == round)
      result = std::max(result, x.attempt + 1);
  return result;
}

void release_ledger::record(const privacy_release& release) {
  if (release.attempt < next_attempt(release.round))
    throw std::logic_error("release ledger: an attempt is released a second time");
  const auto line = line_of(release);
  if (!write_all(file_, std::as_bytes(std::span{line})) || ::fsync(file_.number()) != 0)
    cannot("cannot write the ledger of releases", path_, line.size());
  releases_.push_back(release);
}

} // namespace troupe
