#include "troupe/data/records/history_figures.hpp"

#include <array>

namespace troupe {

namespace {

using row = history_row;

constexpr std::array figures{
  history_figure{"seconds", "", &row::seconds},
  history_figure{"learning_rate", "learning_rate", &row::learning_rate},
  history_figure{"train_loss", "loss/train", &row::train_loss, false},
  history_figure{"train_accuracy", "accuracy/train", &row::train_accuracy, true},
  history_figure{"test_loss", "loss/test", &row::test_loss, false},
  history_figure{"test_accuracy", "accuracy/test", &row::test_accuracy, true},
  history_figure{"test_r2", "r2/test", &row::test_r2, true},
  history_figure{"validation_loss", "loss/validation", &row::validation_loss, false},
  history_figure{"validation_accuracy", "accuracy/validation", &row::validation_accuracy, true},
  history_figure{"validation_r2", "r2/validation", &row::validation_r2, true},
};

} // namespace

std::span<const history_figure> history_figures() {
  return figures;
}

} // namespace troupe
