#include "troupe/app/compare/curves.hpp"

#include "troupe/data/records/history_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace troupe {

namespace {

constexpr double width = 860, panel_height = 260, left = 70, right = 20, top = 34, bottom = 34;
constexpr double legend_line = 20;
constexpr int tick_count = 4;

// Each has a contrast of 3 at least on both grounds.
constexpr std::array colours{"#2f6fd6", "#c26a12", "#0f8a6d", "#8a63d2",
                             "#c8436b", "#6b7a1e", "#0e8aa8", "#8a6a52"};

struct curve_point {
  double step = 0;
  double value = 0;
};

struct curve {
  size_t run = 0;
  std::string part; ///< train, test or validation
  std::vector<curve_point> points;
};

// Of one kind of figure: "loss".
struct panel {
  std::string title;
  std::vector<curve> curves;
};

struct axis {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();
  bool is_logarithmic = false;

  void include(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  // What one value alone would leave empty is given some room.
  void widen() {
    if (least == most) {
      const auto room = least == 0 ? 1 : std::abs(least) / 2;
      least -= room;
      most += room;
    }
  }
  double scaled(double value) const { return is_logarithmic ? std::log10(value) : value; }
  /// From 0 to 1.
  double place(double value) const {
    return (scaled(value) - scaled(least)) / (scaled(most) - scaled(least));
  }
  double tick(int i) const {
    const auto at = scaled(least) + (scaled(most) - scaled(least)) * i / tick_count;
    return is_logarithmic ? std::pow(10, at) : at;
  }
};

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text)
    switch (c) {
    case '&':
      result += "&amp;";
      break;
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    default:
      result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  return result;
}

// Of the rows that have the figure: those that are evaluated may be few.
std::vector<curve_point> points_of(const run_record& run, const history_figure& x) {
  std::vector<curve_point> all, result;
  for (const auto& row : run.history)
    if (const auto value = x.in(row))
      all.push_back({static_cast<double>(row.steps), *value});
  const auto every = all.size() / curve_points_max + 1;
  for (size_t i = 0; i < all.size(); ++i)
    if (i % every == 0 || i + 1 == all.size())
      result.push_back(all[i]);
  return result;
}

std::vector<panel> panels_of(std::span<const run_record> runs) {
  std::vector<history_row> rows;
  for (const auto& run : runs)
    rows.insert(rows.end(), run.history.begin(), run.history.end());
  std::vector<panel> result{{"loss", {}}, {"accuracy", {}}, {"r2", {}}};
  for (const auto& x : history_figures(rows)) {
    const auto slash = std::min(x.tag.find('/'), x.tag.size());
    if (slash == x.tag.size())
      continue; // of no rows
    auto place = std::ranges::find(result, x.tag.substr(0, slash), &panel::title);
    if (place == result.end())
      place = result.insert(place, {x.tag.substr(0, slash), {}});
    for (size_t run = 0; run < runs.size(); ++run)
      if (auto points = points_of(runs[run], x); !points.empty())
        place->curves.push_back({run, x.tag.substr(slash + 1), std::move(points)});
  }
  std::erase_if(result, [](const panel& x) { return x.curves.empty(); });
  return result;
}

std::string path_of(const curve& line, const axis& steps, const axis& values, double y0) {
  std::string path;
  bool is_gap = true;
  for (const auto& [step, value] : line.points) {
    if (!std::isfinite(value)) {
      is_gap = true;
      continue;
    }
    path += fmt::format(
      "{}{:.1f} {:.1f}", is_gap ? 'M' : 'L', left + steps.place(step) * (width - left - right),
      y0 + panel_height - bottom - values.place(value) * (panel_height - top - bottom));
    is_gap = false;
  }
  return fmt::format("<path class=\"{}\" stroke=\"{}\" d=\"{}\"/>\n", line.part,
                     colours[line.run % colours.size()], path);
}

std::string frame_of(const panel& x, const axis& steps, const axis& values, double y0) {
  const auto floor = y0 + panel_height - bottom;
  auto result = fmt::format("<text class=\"title\" x=\"{}\" y=\"{}\">{}{}</text>\n", left, y0 + 20,
                            x.title, values.is_logarithmic ? " (logarithmic)" : "");
  for (int i = 0; i <= tick_count; ++i) {
    const auto y = floor - (panel_height - top - bottom) * i / tick_count;
    const auto across = left + (width - left - right) * i / tick_count;
    result += fmt::format("<path class=\"grid\" d=\"M{} {:.1f}H{}\"/>"
                          "<text class=\"y\" x=\"{}\" y=\"{:.1f}\">{:.4g}</text>"
                          "<text class=\"x\" x=\"{:.1f}\" y=\"{}\">{:.0f}</text>\n",
                          left, y, width - right, left - 8, y + 4, values.tick(i), across,
                          floor + 18, steps.tick(i));
  }
  return result;
}

std::string text_of(const panel& x, double y0) {
  axis steps, values;
  for (const auto& line : x.curves)
    for (const auto& [step, value] : line.points) {
      steps.include(step);
      if (std::isfinite(value))
        values.include(value);
    }
  if (values.least > values.most)
    values = {0, 1};
  values.is_logarithmic = x.title == "loss" && values.least > 0 && values.most > 2 * values.least;
  steps.widen();
  values.widen();
  auto result = frame_of(x, steps, values, y0);
  for (const auto& line : x.curves)
    result += path_of(line, steps, values, y0);
  return result;
}

constexpr std::string_view style =
  "<style>svg{background:#fff;font:12px system-ui,sans-serif}text{fill:#1b2330}"
  ".title{font-weight:600;font-size:14px}.x{text-anchor:middle}.y{text-anchor:end}"
  "path{fill:none;stroke-width:1.8}.grid{stroke:#e3e0d8;stroke-width:1}"
  ".validation{stroke-dasharray:7 4}.test{stroke-dasharray:2 3}"
  "@media(prefers-color-scheme:dark){svg{background:#161b22}text{fill:#e7eaef}"
  ".grid{stroke:#2a323d}}</style>\n";

} // namespace

std::string curves_svg(std::span<const run_record> runs) {
  const auto panels = panels_of(runs);
  const auto legend_y = static_cast<double>(panels.size()) * panel_height + legend_line;
  const auto height = legend_y + legend_line * static_cast<double>(runs.size() + 1);
  auto result = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" "
                            "viewBox=\"0 0 {} {}\">\n<title>Curves of {} runs over steps</title>\n",
                            width, height, runs.size());
  result += style;
  for (size_t i = 0; i < panels.size(); ++i)
    result += text_of(panels[i], static_cast<double>(i) * panel_height);
  for (size_t i = 0; i < runs.size(); ++i) {
    const auto y = legend_y + legend_line * static_cast<double>(i);
    result +=
      fmt::format("<path stroke=\"{}\" d=\"M{} {}h30\"/><text x=\"{}\" y=\"{}\">{}</text>\n",
                  colours[i % colours.size()], left, y - 4, left + 40, y, escaped(runs[i].name));
  }
  result += fmt::format("<text x=\"{}\" y=\"{}\">solid: train, dashed: validation, dotted: test; "
                        "over steps</text>\n</svg>\n",
                        left, legend_y + legend_line * static_cast<double>(runs.size()));
  return result;
}

} // namespace troupe
