// A model as an application has it: y = c + sum_h a_h sin(b_h x), of one feature. What goes through
// jobs, clusters and files here would go through them for anybody's.

#pragma once

#include "models/kinds/model_kinds.hpp"
#include "models/losses/evaluate_loss.hpp"

#include <algorithm>
#include <cmath>

namespace troupe {

struct wave_options {
  size_t harmonics = 1;
  double frequency = 1; ///< that b begins at
  bool shifts = false;
  std::string window = "none";
  std::vector<double> weights;
};

class wave : public model {
public:
  wave(const wave_options& x, const model_input& input)
    : model(input.features, input.outputs, input.loss), options_(x) {
    layout_.add("offset", {1});
    layout_.add("amplitude", {x.harmonics});
    layout_.add("frequency", {x.harmonics});
  }

  batch_sums evaluate(std::span<const float> p, const batch& rows,
                      workspace& memory) const override {
    const auto s = scores(p, rows, memory);
    return evaluate_loss(loss_with_constants(), rows, s, 1, s);
  }

private:
  void do_initialize(uint64_t, const index_range& elements, std::span<float> out) const override {
    for (size_t i = elements.begin; i < elements.end; ++i)
      out[i - elements.begin] =
        i <= options_.harmonics ? 1.0f : static_cast<float>(options_.frequency * double(i));
  }

  batch_sums do_gradient(std::span<const float> p, const batch& rows, std::span<float> out,
                         workspace& memory, const gradient_listener*) const override {
    const auto d = scores(p, rows, memory);
    const auto sums = evaluate_loss(loss_with_constants(), rows, d, 1, d);
    std::ranges::fill(out, 0.0f);
    const auto n = options_.harmonics;
    for (size_t i = 0; i < rows.row_count; ++i) {
      const float x = rows.features[i];
      out[0] += d[i];
      for (size_t h = 1; h <= n; ++h) {
        out[h] += d[i] * std::sin(p[h + n] * x);
        out[h + n] += d[i] * p[h] * x * std::cos(p[h + n] * x);
      }
    }
    return sums;
  }

  void do_predict(std::span<const float> p, const batch& rows, std::span<float> out,
                  workspace& memory) const override {
    predict_from_scores(loss_with_constants(), scores(p, rows, memory), 1, out);
  }

  std::span<float> scores(std::span<const float> p, const batch& rows, workspace& memory) const {
    const auto out = memory.slot(0, rows.row_count);
    for (size_t i = 0; i < rows.row_count; ++i) {
      out[i] = p[0];
      for (size_t h = 1; h <= options_.harmonics; ++h)
        out[i] += p[h] * std::sin(p[h + options_.harmonics] * rows.features[i]);
    }
    return out;
  }

  wave_options options_;
};

/// Adds the kind "wave", once in a process.
inline void add_wave(uint32_t version = 1) {
  static const bool added = [&] {
    models().add<wave_options>(
      "wave", {version, "a sum of sines"},
      {option("harmonics", &wave_options::harmonics, within(1, 64), "sines"),
       option("frequency", &wave_options::frequency, above(0), "of the first sine, at first"),
       option("shifts", &wave_options::shifts, anything(), "no matter"),
       option("window", &wave_options::window, one_of({"none", "hann"}), "no matter"),
       option("weights", &wave_options::weights, at_least(0), "no matter")},
      [](const wave_options& x, const model_input& input) -> std::unique_ptr<model> {
        return std::make_unique<wave>(x, input);
      });
    return true;
  }();
  (void)added;
}

} // namespace troupe
