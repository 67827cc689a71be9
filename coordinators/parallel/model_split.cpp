#include "coordinators/parallel/model_split.hpp"

namespace troupe {

namespace {

std::string counted(const std::string& what, const index_range& x) {
  return what + (x.size() == 1 ? " " : "s ") + range_text(x);
}

} // namespace

std::string range_text(const index_range& x) {
  return x.size() == 1 ? std::to_string(x.begin)
                       : std::to_string(x.begin) + "-" + std::to_string(x.end - 1);
}

std::string partition_text(const partition& work, const model_split& split) {
  if (work.empty())
    return "spare";
  const index_range layers{split.layers[work.segments.begin].begin,
                           split.layers[work.segments.end - 1].end};
  const auto part = counted(", part", work.parts) + " of " + std::to_string(split.part_count);
  return counted("slice", work.slices) + counted(", layer", layers) +
         (split.part_count > 1 ? part : "");
}

} // namespace troupe
