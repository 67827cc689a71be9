#include "app/terminal/progress.hpp"

#include "data/records/history_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
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

// Four decimals for usual sizes; beyond them they would show nothing, or too much.
std::string figure(double value) {
  const double size = std::abs(value);
  const bool usual = size == 0 || (size >= 1e-3 && size < 1e5) || !std::isfinite(value);
  return usual ? fmt::format("{:.4f}", value) : fmt::format("{:.3e}", value);
}

std::string pace(const training_progress& x) {
  if (x.step == 0)
    return {};
  const double seconds = x.seconds_of_epoch / static_cast<double>(x.step);
  if (seconds < 1e-3)
    return fmt::format(" {:.0f} us/step", seconds * 1e6);
  if (seconds < 1)
    return fmt::format(" {:.1f} ms/step", seconds * 1e3);
  return fmt::format(" {:.2f} s/step", seconds);
}

// "  12 s left", "  1:05:00 left", as if the rest took as long a step as all before. Nothing while
// that is no more than a guess, or nothing to wait for.
std::string time_left(const training_progress& x) {
  constexpr double seconds_min = 2;
  const double total = static_cast<double>(x.epochs) * static_cast<double>(x.steps_in_epoch);
  const auto done = static_cast<double>(x.version);
  if (x.seconds < seconds_min || done < 1 || total <= done)
    return {};
  const double left = x.seconds / done * (total - done);
  if (left < 1 || left > 1e8)
    return {};
  const auto whole = static_cast<unsigned long>(left);
  const auto seconds = whole % 60, minutes = whole / 60 % 60, hours = whole / 3600;
  if (hours > 0)
    return fmt::format("  {}:{:02}:{:02} left", hours, minutes, seconds);
  return minutes > 0 ? fmt::format("  {}:{:02} left", minutes, seconds)
                     : fmt::format("  {} s left", seconds);
}

/// A figure in two lengths. Where there is no room for all, the one with the highest rank goes
/// first: figures of training rows say less than others.
struct shown_figure {
  std::string name;
  std::string short_name;
  std::string value;
  int rank;
};

void add_figure(std::vector<shown_figure>& out, const std::string& name,
                const std::string& short_name, const std::optional<double>& value, int rank) {
  if (value)
    out.push_back({name, short_name, figure(*value), rank});
}

std::vector<shown_figure> figures(const training_progress& x) {
  std::vector<shown_figure> result;
  const auto& row = x.finished_epoch;
  add_figure(result, "loss", "loss", row ? row->train_loss : x.train_loss, 4);
  add_figure(result, "accuracy", "acc", row ? row->train_accuracy : x.train_accuracy, 5);
  if (!x.rounds.empty() && x.rounds.back().epsilon)
    add_figure(result, "epsilon", "eps", x.rounds.back().epsilon, 1);
  else if (!x.rounds.empty())
    result.push_back(
      {"clients", "clients",
       std::to_string(x.rounds.back().counted) + "/" + std::to_string(x.rounds.back().invited), 6});
  if (!row)
    return result;
  for (const auto& one : evaluated_figures(*row)) {
    const auto name = one.short_name();
    const bool is_accuracy = !one.is_metric() && name.ends_with("_accuracy");
    const int rank = name == "val_loss" ? 2 : one.validates() ? 3 : name == "test_loss" ? 1 : 0;
    add_figure(result, name, is_accuracy ? name.substr(0, name.size() - 5) : name, one.in(*row),
               rank);
  }
  return result;
}

std::string epoch_text(const training_progress& x) {
  return (x.rounds.empty() ? "Epoch " : "Round ") + std::to_string(x.epoch) + "/" +
         std::to_string(x.epochs);
}

std::string steps_text(const training_progress& x) {
  const std::string total = std::to_string(x.steps_in_epoch);
  const std::string done = std::to_string(x.step);
  const std::string padding(total.size() - std::min(total.size(), done.size()), ' ');
  return "  " + padding + done + "/" + total;
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

/// A line in parts. When it is too long, the least important part goes first.
class fitted_line {
public:
  explicit fitted_line(const training_progress& x)
    : progress_(x),
      epoch_(epoch_text(x)),
      steps_(steps_text(x)),
      speed_(pace(x)),
      left_(time_left(x)),
      figures_(figures(x)) {}

  void fit(size_t room) {
    while (length() > room && bar_columns_ > bar_columns_min)
      --bar_columns_;
    if (length() > room)
      bar_columns_ = 0;
    for (auto* part : {&speed_, &left_})
      if (length() > room)
        part->clear();
    short_names_ = length() > room;
    if (length() > room)
      steps_.clear();
    while (length() > room && !figures_.empty())
      figures_.erase(std::ranges::max_element(figures_, {}, &shown_figure::rank));
  }

  std::string text(bool colour) const {
    std::string result = epoch_ + steps_;
    if (bar_columns_ > 0)
      result += ' ' + bar(progress_, bar_columns_, colour);
    result += speed_ + left_;
    for (const auto& one : figures_)
      result += "  " + (short_names_ ? one.short_name : one.name) + ' ' + one.value;
    return result;
  }

private:
  size_t length() const { return text(false).size(); }

  const training_progress& progress_;
  std::string epoch_, steps_, speed_, left_;
  size_t bar_columns_ = bar_columns;
  std::vector<shown_figure> figures_;
  bool short_names_ = false;
};

} // namespace

std::string progress_line(const training_progress& progress, size_t width,
                          const progress_style& style) {
  fitted_line line{progress};
  if (!style.live)
    return line.text(false);
  // The last column stays free: writing there makes some terminals wrap.
  const size_t room = width > 0 ? width - 1 : 0;
  line.fit(room);
  const auto text = line.text(style.colour);
  return line.text(false).size() > room ? text.substr(0, room) : text;
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

void progress_display::show(const training_progress& progress, moment now) {
  if (!style_.live && !progress.finished_epoch)
    return;
  waiting_ = progress_line(progress, columns_of(file_), style_);
  ends_line_ = progress.finished_epoch.has_value();
  const auto interval = style_.live ? redraw_interval : line_interval;
  if (!written_ || now - *written_ >= interval)
    write(now);
}

void progress_display::write(moment now) {
  // Erasing to the end of the line removes what a longer line left behind.
  std::fputs(style_.live ? ("\r" + waiting_ + "\033[K").c_str() : waiting_.c_str(), file_);
  waiting_.clear();
  line_open_ = true;
  written_ = now;
  if (ends_line_ && (!style_.live || !broken_ || now - *broken_ >= line_interval)) {
    broken_ = now;
    break_line();
  }
  std::fflush(file_);
}

void progress_display::end_line() {
  if (!waiting_.empty())
    write(written_.value_or(moment{}));
  break_line();
}

void progress_display::break_line() {
  if (!line_open_)
    return;
  std::fputc('\n', file_);
  std::fflush(file_);
  line_open_ = false;
}

} // namespace troupe
