#include "models/base/element_window.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace troupe {

element_window::element_window(std::vector<index_range> elements) {
  std::ranges::sort(elements);
  for (const auto& x : elements) {
    if (x.begin >= x.end)
      continue;
    if (!runs_.empty() && x.begin <= runs_.back().elements.end)
      runs_.back().elements.end = std::max(runs_.back().elements.end, x.end);
    else
      runs_.push_back({x, 0});
  }
  size_t place = 0;
  for (auto& one : runs_) {
    one.place = place;
    place += one.elements.size();
  }
}

const element_window::run* element_window::run_with(size_t element) const {
  const auto behind =
    std::ranges::upper_bound(runs_, element, {}, [](const run& one) { return one.elements.begin; });
  if (behind == runs_.begin() || element >= std::prev(behind)->elements.end)
    return nullptr;
  return &*std::prev(behind);
}

bool element_window::contains(const index_range& elements) const {
  const auto* one = run_with(elements.begin);
  return elements.empty() || (one != nullptr && elements.end <= one->elements.end);
}

size_t element_window::place_of(const index_range& elements) const {
  if (elements.empty())
    return 0; // wherever it begins: that element may be another's
  const auto* one = run_with(elements.begin);
  if (one == nullptr || elements.end > one->elements.end)
    throw std::out_of_range("element window: elements " + std::to_string(elements.begin) + " to " +
                            std::to_string(elements.end) + " are not in it");
  return one->place + (elements.begin - one->elements.begin);
}

std::vector<index_range> element_window::shared_with(const index_range& elements) const {
  std::vector<index_range> result;
  for (const auto& one : runs_)
    if (const index_range part{std::max(one.elements.begin, elements.begin),
                               std::min(one.elements.end, elements.end)};
        part.begin < part.end)
      result.push_back(part);
  return result;
}

} // namespace troupe
