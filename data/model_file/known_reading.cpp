#include "data/model_file/known_reading.hpp"

#include "data/disk/disk.hpp"
#include "data/model_file/tensor_file.hpp"
#include "data/text/checksum.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace troupe {

known_reading::known_reading(const saved_model& model, std::string what)
  : what_(std::move(what)),
    hint_("give it rows of the same columns and classes, or let the layer begin fresh: "
          "model.start_fresh"),
    knows_features_(true),
    knows_scale_(!model.is_classification()) {
  form_.columns = model.columns;
  form_.feature_names = model.feature_names;
  form_.feature_count = model.network->feature_count();
  if (!model.features.empty() && model.features.mean.empty())
    form_.sparse.starts = {0};
  form_.classes = model.classes;
  learned_.features = model.features;
  learned_.fill = model.columns.fill;
  if (knows_scale_) {
    form_.target_count = model.network->output_count();
    learned_.targets = model.network->loss_with_constants().scale;
  }
}

known_reading::known_reading(row_reading reading, std::string what)
  : what_(std::move(what)),
    hint_("give it rows of the table's columns and classes, or leave "
          "data.table out"),
    form_(std::move(reading.form)),
    learned_(std::move(reading.learned)),
    knows_features_(true),
    knows_scale_(!form_.is_classification()) {
  form_.columns.fill = learned_.fill;
}

void known_reading::forget_features() {
  dataset kept;
  kept.classes = std::move(form_.classes);
  kept.target_count = form_.target_count;
  form_ = std::move(kept);
  learned_ = {{}, {}, std::move(learned_.targets)};
  knows_features_ = false;
}

void known_reading::forget_targets() {
  form_.classes.clear();
  form_.target_count = 0;
  learned_.targets = {};
  knows_scale_ = false;
}

void known_reading::apply(prepare_options& options) const {
  if (knows_features_)
    options.features = learned_.features;
  if (knows_scale_)
    options.scale = learned_.targets;
}

std::string known_reading::sha256() const {
  const auto text = reading_text({form_, learned_});
  return sha256_hex(std::as_bytes(std::span{text}));
}

void known_reading::require_features(const dataset& rows) const {
  const auto refuse = [&](const std::string& why) {
    throw failure(failure_code::bad_data, why, {}, hint_);
  };
  if (rows.feature_count != form_.feature_count)
    refuse(what_ + " has " + std::to_string(form_.feature_count) + " features, these rows have " +
           std::to_string(rows.feature_count));
  if (!learned_.features.empty() && rows.is_sparse() != form_.is_sparse())
    refuse(what_ + " scales rows that are " +
           (rows.is_sparse() ? "dense, these are sparse" : "sparse, these are dense"));
  if (are_numbered(form_.feature_names) || are_numbered(rows.feature_names))
    return;
  for (size_t i = 0; i < std::min(form_.feature_names.size(), rows.feature_names.size()); ++i)
    if (form_.feature_names[i] != rows.feature_names[i])
      refuse("feature " + std::to_string(i) + " is " + shown_text(rows.feature_names[i]) +
             ", that of " + what_ + " is " + shown_text(form_.feature_names[i]));
}

void known_reading::fit(dataset& rows) const {
  if (knows_features_) {
    if (rows.is_sparse() && form_.is_sparse()) // these have only features that occur
      rows.feature_count = std::max(rows.feature_count, form_.feature_count);
    require_features(rows);
  }
  const auto refuse_target = [&](const std::string& why) {
    throw failure(failure_code::bad_data, why, {}, hint_);
  };
  if (!form_.target_names.empty() && rows.target_names != form_.target_names)
    refuse_target("the target is " +
                  shown_text(rows.target_names.empty() ? "" : rows.target_names.front()) +
                  ", that of " + what_ + " is " + shown_text(form_.target_names.front()));
  const bool knows_classes = !form_.classes.empty();
  if ((knows_classes || form_.target_count > 0) && knows_classes != rows.is_classification())
    refuse_target(what_ + " has " + (knows_classes ? "classes" : "numbers") +
                  " to learn, these rows have " + (knows_classes ? "numbers" : "classes"));
  if (form_.target_count > 0 && rows.target_count != form_.target_count)
    refuse_target(what_ + " has " + std::to_string(form_.target_count) +
                  " targets, these rows have " + std::to_string(rows.target_count));
  if (!knows_classes)
    return;
  if (const auto unknown = renumber_classes(rows, form_.classes))
    refuse_target("the class " + shown_text(*unknown) + " is none of those of " + what_);
}

void known_reading::require_same(dataset names) const {
  const auto classes = names.classes;
  fit(names);
  if (names.classes != classes)
    throw failure(failure_code::bad_data,
                  "the classes of the file of rows are not those of " + what_, {}, hint_);
}

known_reading read_table_file(const std::string& path) {
  const auto what = "the table " + shown_text(path);
  const auto file = open_to_read(*posix_disk(), path);
  std::string text(1, ' ');
  file->read(0, std::as_writable_bytes(std::span{text}));
  if (text != "{")
    return known_reading{read_model(path), what};
  text.resize(file->size());
  file->read(0, std::as_writable_bytes(std::span{text}));
  try {
    return {reading_of(text, path), what};
  } catch (const failure& error) {
    throw failure(error.code(), error.reason(), path,
                  "make it anew: troupe data table; a run's table.json and a model file will do");
  }
}

} // namespace troupe
