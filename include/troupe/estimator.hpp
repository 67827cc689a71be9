// fit, predict, score: rows in memory become a model, without an actor in sight.
//
//   troupe::estimator digits;
//   digits.fit(images, labels);                   // xtensor expressions, or a matrix_view and a span
//   const auto guesses = digits.predict_labels(more_images);
//   digits.save("digits.safetensors");
//
// `fitted_model{train(system, job)}` predicts in the same way what `train` came to (<troupe/train.hpp>).
//
// Threads: `fit` starts an actor system of its own and ends it, or uses the application's. One thread at a time may use
// an estimator; predictions of one that is fitted, and all of a fitted_model, may run on several.
// Errors: std::invalid_argument for shapes, std::logic_error before `fit`, `failure` for data, files and divergence.

#pragma once

#include "actors/embed/estimator.hpp"
#include "actors/embed/fitted_model.hpp"
#include "data/text/failure.hpp"
