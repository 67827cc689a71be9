// Parameter windows: which parameters the processes of a view have buffers for, where models are split
// over them. A version goes to each as far as that one needs it.

#pragma once

#include "troupe/actors/node/local_spans.hpp"

#include <memory>
#include <vector>

namespace troupe {

class parameter_windows {
public:
  parameter_windows(node_seat& seat, local_spans& spans) : seat_(seat), spans_(spans) {}

  /// The seat has another view. True when this process needs other parameters than before: buffers
  /// hold these from now on, and whoever gathers begins anew.
  bool on_view();
  /// Who is to have which parameters of a local span.
  std::vector<tensor_route> routes_of(const index_range& span);

private:
  node_seat& seat_;
  local_spans& spans_;
  std::vector<std::shared_ptr<const element_window>> windows_; ///< by member; null: all elements
};

} // namespace troupe
