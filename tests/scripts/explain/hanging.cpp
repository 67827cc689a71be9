// The command with a model that takes as long as a test wants, for hangs_test.py: y = w x, for any number of
// features. The file that TROUPE_TEST_HANG names says what takes how long, as long as it is there:
//
//   gradient 2.5     each gradient, in seconds
//   evaluate 2.5     each chunk of an evaluation
//   row 7            a gradient of rows of which one has this value in its first column never ends

#include "app/commands/run_command.hpp"
#include "models/kinds/model_kinds.hpp"
#include "models/losses/evaluate_loss.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

namespace {

using namespace troupe;
using values = std::span<const float>;

/// What the file says after this word.
std::optional<double> asked(const std::string& word) {
  const char* path = std::getenv("TROUPE_TEST_HANG");
  std::ifstream file{path ? path : ""};
  std::string key;
  for (double number = 0; file >> key >> number;)
    if (key == word)
      return number;
  return std::nullopt;
}

template <class Condition>
void sleep_while(const Condition& holds) {
  while (holds())
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
}

void take_time(const std::string& word) {
  const auto begin = std::chrono::steady_clock::now();
  sleep_while([&] {
    const auto seconds = asked(word);
    return seconds &&
           std::chrono::steady_clock::now() - begin < std::chrono::duration<double>{*seconds};
  });
}

struct slow_options {
  bool ignored = false;
};

class hanging : public model {
public:
  hanging(const slow_options&, const model_input& input)
    : model(input.features, input.outputs, input.loss) {
    layout_.add("w", {feature_count()});
  }

  batch_sums evaluate(values p, const batch& rows, workspace& memory) const override {
    take_time("evaluate");
    const auto s = scores(p, rows, memory);
    return evaluate_loss(loss_with_constants(), rows, s, 1, s);
  }

private:
  void do_initialize(uint64_t, const index_range&, std::span<float> out) const override {
    std::ranges::fill(out, 0.0f);
  }

  batch_sums do_gradient(values p, const batch& rows, std::span<float> out, workspace& memory,
                         const gradient_listener*) const override {
    take_time("gradient");
    sleep_while([&] {
      const auto value = asked("row");
      for (size_t i = 0; value && i < rows.row_count; ++i)
        if (rows.features[i * feature_count()] == static_cast<float>(*value))
          return true;
      return false;
    });
    const auto d = scores(p, rows, memory);
    const auto sums = evaluate_loss(loss_with_constants(), rows, d, 1, d);
    std::ranges::fill(out, 0.0f);
    for (size_t i = 0; i < rows.row_count; ++i)
      for (size_t f = 0; f < feature_count(); ++f)
        out[f] += d[i] * rows.features[i * feature_count() + f];
    return sums;
  }

  void do_predict(values p, const batch& rows, std::span<float> out,
                  workspace& memory) const override {
    predict_from_scores(loss_with_constants(), scores(p, rows, memory), 1, out);
  }

  std::span<float> scores(values p, const batch& rows, workspace& memory) const {
    const auto out = memory.slot(0, rows.row_count);
    for (size_t i = 0; i < rows.row_count; ++i) {
      out[i] = 0;
      for (size_t f = 0; f < feature_count(); ++f)
        out[i] += p[f] * rows.features[i * feature_count() + f];
    }
    return out;
  }
};

} // namespace

int main(int argc, char** argv) {
  models().add<slow_options>(
    "hanging", {1, "as slow as a test wants"},
    {option("ignored", &slow_options::ignored, anything(), "no matter")},
    [](const auto& x, const auto& input) { return std::make_unique<hanging>(x, input); });
  return run_command(argc, argv);
}
