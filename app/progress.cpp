#include "troupe/app/progress.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <sys/ioctl.h>
#include <unistd.h>

namespace troupe {

namespace {

constexpr size_t bar_columns = 20;
constexpr size_t bar_columns_min = 6;

template <class... Values>
std::string formatted(const char* format, Values... values) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

// Four decimals for usual sizes; beyond them they would show nothing, or too much.
std::string figure(double value) {
  const double size = std::abs(value);
  const bool usual = size == 0 || (size >= 1e-3 && size < 1e5) || !std::isfinite(value);
  return formatted(usual ? "%.4f" : "%.3e", value);
}

std::string pace(const training_progress& x) {
  if (x.step == 0)
    return {};
  const double seconds = x.seconds_of_epoch / static_cast<double>(x.step);
  if (seconds < 1e-3)
    return formatted(" %.0f us/step", seconds * 1e6);
  if (seconds < 1)
    return formatted(" %.1f ms/step", seconds * 1e3);
  return formatted(" %.2f s/step", seconds);
}

void add_figure(std::vector<std::string>& out, const char* name,
                const std::optional<double>& value) {
  if (value)
    out.push_back(std::string{"  "} + name + " " + figure(*value));
}

std::vector<std::string> figures(const training_progress& x) {
  std::vector<std::string> result;
  const auto& row = x.finished_epoch;
  add_figure(result, "loss", row ? row->train_loss : x.train_loss);
  add_figure(result, "accuracy", row ? row->train_accuracy : x.train_accuracy);
  if (row) {
    add_figure(result, "val_loss", row->validation_loss);
    add_figure(result, "val_accuracy", row->validation_accuracy);
    add_figure(result, "val_r2", row->validation_r2);
    add_figure(result, "test_loss", row->test_loss);
    add_figure(result, "test_accuracy", row->test_accuracy);
    add_figure(result, "test_r2", row->test_r2);
  }
  return result;
}

std::string head(const training_progress& x) {
  const std::string total = std::to_string(x.steps_in_epoch);
  const std::string done = std::to_string(x.step);
  const std::string padding(total.size() - std::min(total.size(), done.size()), ' ');
  return "Epoch " + std::to_string(x.epoch) + "/" + std::to_string(x.epochs) + "  " + padding +
         done + "/" + total + " ";
}

// "[=====>....]": as many columns of '=' as steps are done, the last of them a tip until the end.
std::string bar(const training_progress& x, size_t columns, bool colour) {
  const uint64_t total = std::max<uint64_t>(1, x.steps_in_epoch);
  const uint64_t done = std::min(x.step, total);
  const auto filled = static_cast<size_t>(static_cast<double>(columns) * static_cast<double>(done) /
                                          static_cast<double>(total));
  std::string full(filled, '=');
  if (filled > 0 && filled < columns)
    full.back() = '>';
  const std::string rest(columns - filled, '.');
  return colour ? "[\033[32m" + full + "\033[0m" + rest + "]" : "[" + full + rest + "]";
}

size_t length_of(const std::vector<std::string>& parts) {
  size_t result = 0;
  for (const auto& part : parts)
    result += part.size();
  return result;
}

} // namespace

std::string progress_line(const training_progress& progress, size_t width,
                          const progress_style& style) {
  const std::string start = head(progress);
  const std::string speed = pace(progress);
  auto shown = figures(progress);
  size_t columns = bar_columns;
  if (style.live) {
    // The last column stays free: writing there makes some terminals wrap.
    const size_t room = width > 0 ? width - 1 : 0;
    const auto length = [&] {
      return start.size() + columns + 2 + speed.size() + length_of(shown);
    };
    while (length() > room && columns > bar_columns_min)
      --columns;
    while (length() > room && !shown.empty())
      shown.pop_back();
    if (length() > room)
      return (start + speed).substr(0, room);
  }
  std::string result = start + bar(progress, columns, style.colour) + speed;
  for (const auto& part : shown)
    result += part;
  return result;
}

progress_style style_for(std::FILE* file) {
  const char* terminal = std::getenv("TERM");
  const char* no_colour = std::getenv("NO_COLOR");
  progress_style result;
  result.live = isatty(fileno(file)) == 1 && terminal && std::string_view{terminal} != "dumb";
  result.colour = result.live && (!no_colour || !*no_colour);
  return result;
}

size_t columns_of(std::FILE* file) {
  winsize size{};
  if (ioctl(fileno(file), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  const long count = columns ? std::strtol(columns, nullptr, 10) : 0;
  return count > 0 ? static_cast<size_t>(count) : 80;
}

void progress_display::show(const training_progress& progress) {
  if (!style_.live && !progress.finished_epoch)
    return;
  const std::string line = progress_line(progress, columns_of(file_), style_);
  // Erasing to the end of the line removes what a longer line left behind.
  std::fputs(style_.live ? ("\r" + line + "\033[K").c_str() : line.c_str(), file_);
  line_open_ = true;
  if (progress.finished_epoch)
    end_line();
  std::fflush(file_);
}

void progress_display::end_line() {
  if (!line_open_)
    return;
  std::fputc('\n', file_);
  std::fflush(file_);
  line_open_ = false;
}

} // namespace troupe
