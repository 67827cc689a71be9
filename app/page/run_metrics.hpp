// The figures of a run for scrapers of metrics: Prometheus' text format, or OpenMetrics 1.0 on
// request. Names follow Prometheus' conventions; units are seconds, bytes and ratios.
//
// A figure without a value is left out, never 0. Labels come from closed sets or are the cluster
// file's names. At most 1,024 processes and as many replicas have series of their own.

#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

enum class metrics_format : uint8_t {
  prometheus, ///< text 0.0.4
  open_metrics,
};

/// By the Accept header of a request.
metrics_format metrics_format_for(std::string_view accept);
std::string_view content_type_of(metrics_format format);

/// All metrics of a status as `troupe status --json` prints it; of null: none.
std::string run_metrics(const nlohmann::json& status, metrics_format format);

} // namespace troupe
