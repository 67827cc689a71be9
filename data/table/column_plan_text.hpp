// A column plan as text: a JSON object, as it stands in a model's file and in what names a job's data.
//
//   {"columns": [{"kind": "number", "name": "age"},
//                {"categories": ["Bergen", "Oslo"], "kind": "category", "marks_missing": true, "name": "city"}],
//    "missing": "mean", "missing_cells": ["NA"]}

#pragma once

#include "troupe/data/table/column_plan.hpp"

#include <optional>
#include <string>

namespace troupe {

/// Without what fills gaps.
std::string text_of(const column_plan& plan);

/// Nothing for a text that is no plan: no JSON, no column, a kind or a rule that does not exist, names that are
/// not, columns or categories that come twice.
std::optional<column_plan> plan_of(const std::string& text);

} // namespace troupe
