// Estimator: fit, predict, score. It trains a model on rows in memory and hides the actors.
//
//   troupe::estimator_options options;
//   options.model.hidden = {64};
//   troupe::estimator digits{options};
//   digits.fit(images, labels);                   // an xtensor expression or a matrix_view, labels
//   auto guesses = digits.predict_labels(more_images);
//   digits.save("digits.safetensors");            // `troupe predict` reads it too
//
// It trains with the same actors as `train`: in an actor system of its own, which lives as long as `fit` runs, or in
// the application's. The bits of the result are the same.

#pragma once

#include "actors/embed/fitted_model.hpp"
#include "coordinators/job/job.hpp"
#include "data/records/training_record.hpp"
#include "data/table/dataset.hpp"

#include <caf/fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

struct training_progress; // actors/protocol/training_progress.hpp

struct estimator_options {
  /// A network without hidden layers, Adam at its paper's rate of 0.001 (it suits most models
  /// without a search), 20 epochs.
  estimator_options() {
    optimizer.kind = optimizer_kind::adam;
    optimizer.learning_rate = 0.001;
    training.epochs = 20;
  }

  model_options model;
  optimizer_options optimizer;
  training_options training;
  uint64_t seed = 0;
  bool standardize = true; ///< features to mean 0, deviation 1; a saved model keeps the map
  /// How a regression's targets are scaled while it trains (models/losses/target_scale.hpp); absent: as a job does it
  /// (`data.target_scale`). Losses in the history are those of the scaled targets.
  std::optional<target_scale_kind> target_scale{};
  /// Share of rows kept from training for validation, [0, 1). The model is then that of the epoch with their least loss
  /// (`training.keep_best`, `training.patience`).
  double validation_fraction = 0;
  /// A model whose parameters training begins from, as `model.start_fresh` and its kin say (models/network/start_values.hpp);
  /// null: the file `model.start_from`, else values by the seed. Its map of features, its classes and its scale of targets
  /// stay as they are, whatever these options say. It must outlive `fit`.
  const saved_model* start = nullptr;
  /// As in train_options (train.hpp), on the thread that waits in `fit`. Stopped training leaves the
  /// model of the version it reached, or the best one if that is kept.
  std::function<void(const training_progress&)> on_progress{};
  std::function<bool()> stop_requested{};
};

/// Shapes: N rows, F features, K classes, T targets. Throws std::invalid_argument when sizes do not fit each other or
/// the model. Throws std::logic_error for a call that needs a model before there is one, or classes of a model of
/// numbers.
class estimator {
public:
  using matrix = row_matrix;

  /// Uses an actor system of its own, with a thread for each core.
  explicit estimator(estimator_options options = {});

  /// Uses the application's actor system, whose configuration went through `configure` (train.hpp). It must outlive the
  /// estimator.
  explicit estimator(caf::actor_system& system, estimator_options options = {});

  /// Learns classes: any numbers, at least two different ones. A second `fit` starts anew. With an actor system of its
  /// own it reads the features in place until it returns. It copies them only if a step is of all rows
  /// (`training.batch_size` 0) and they are standardised or some are for validation. Throws failure: bad_job, bad_data,
  /// naming row and column, for values that are not finite, diverged (the model then is what it was); internal when
  /// called in a handler of an actor of the application's system (train.hpp).
  void fit(const matrix_view& features, std::span<const int32_t> labels);

  /// Learns one target (N), or T of them (N x T).
  void fit(const matrix_view& features, std::span<const float> targets);
  void fit(const matrix_view& features, const matrix_view& targets);

  /// Learns a data set: sparse rows, rows with weights or names, classes of which some have no row here. It reads
  /// `rows.lent` in place where it would read a view's features so.
  void fit(dataset rows);

  /// N x T targets.
  std::vector<float> predict(const matrix_view& features) const {
    return fitted().predict(features);
  }

  /// N labels, as `fit` was given them; class numbers when a loaded model's classes are texts.
  std::vector<int32_t> predict_labels(const matrix_view& features) const {
    return fitted().predict_labels(features);
  }

  /// N x K probabilities; classes in ascending order.
  std::vector<float> predict_probabilities(const matrix_view& features) const {
    return fitted().predict_probabilities(features);
  }

  /// Share of rows whose label is predicted.
  double score(const matrix_view& features, std::span<const int32_t> labels) const;

  /// R^2 of T targets; NaN when they do not vary.
  double score(const matrix_view& features, std::span<const float> targets) const;

  /// The same for 2-D xtensor expressions; they are evaluated once. Labels are whole numbers that 32 bits hold,
  /// targets others, of any type: an expression (N, or N x T) of any layout, or a container, which is in rows.
  template <class E, class Targets>
  void fit(const xt::xexpression<E>& features, const Targets& targets) {
    const auto rows = evaluated(features);
    fit(view_of(rows), std::span<const target_value<Targets>>{in_rows(rows.shape()[0], targets)});
  }
  template <class E>
  std::vector<float> predict(const xt::xexpression<E>& features) const {
    return predict(view_of(evaluated(features)));
  }
  template <class E>
  std::vector<int32_t> predict_labels(const xt::xexpression<E>& features) const {
    return predict_labels(view_of(evaluated(features)));
  }
  template <class E, class Targets>
  double score(const xt::xexpression<E>& features, const Targets& targets) const {
    const auto rows = evaluated(features);
    return score(view_of(rows),
                 std::span<const target_value<Targets>>{in_rows(rows.shape()[0], targets)});
  }

  /// Writes the model file. Throws failure as write_safetensors does.
  void save(const std::string& path) const { fitted().save(path); }

  /// An estimator that holds the model of a file. Throws failure as read_model does.
  static estimator load(const std::string& path);

  /// One row for each epoch of the last `fit`.
  const std::vector<history_row>& history() const { return history_; }

  /// The model, as a value that other threads may use.
  const fitted_model& fitted() const;
  /// Its parameters, classes and standardisation.
  const saved_model& model() const { return fitted().saved(); }

private:
  estimator_options options_;
  caf::actor_system* system_ = nullptr; ///< the application's; null: one of its own
  std::optional<fitted_model> fitted_;
  std::vector<history_row> history_;
};

} // namespace troupe
