// A gradient by two actors, each with half of the parts of a model: what another has is handed over as it
// is, and the memory of each is its own.

#pragma once

#include "models/network/chained_model.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace troupe {

struct made_gradient {
  batch_sums sums;
  std::vector<float> values;
};

/// Of a model with an even number of parts.
inline made_gradient gradient_by_two(const chained_model& network,
                                     std::span<const float> parameters, const batch& rows) {
  const auto& chain = network.chain();
  const auto parts = chain.part_count();
  const auto half = parts / 2;
  made_gradient made{{}, std::vector<float>(network.layout().size())};
  std::vector<workspace> memory(2);
  const auto last = chain.size() - 1;
  const auto here = [&](size_t a, size_t k) {
    return chain.segment(k).cut == layer_cut::none ? index_range{0, 1}
                                                   : index_range{a * half, a * half + half};
  };
  const auto add_both = [&](size_t k, std::vector<std::span<float>> outs, const auto& compute) {
    std::vector<std::vector<float>> sums;
    for (size_t a = 0; a < 2; ++a) {
      sums.emplace_back(outs[a].size());
      chain.add_parts(k, here(a, k).begin, here(a, k).end, sums.back(), memory[a],
                      [&](size_t t, std::span<float> out) { compute(a, t, out); });
    }
    for (size_t a = 0; a < 2; ++a) {
      std::ranges::copy(sums[chain.segment(k).cut == layer_cut::none ? a : 0], outs[a].begin());
      if (chain.segment(k).cut != layer_cut::none)
        add_into(outs[a], sums[1]);
    }
  };
  for (size_t k = 0; k < chain.size(); ++k) {
    for (size_t a = 0; a < 2; ++a)
      chain.enter(k, rows, true, memory[a]);
    const auto forward = [&](size_t a, size_t t, std::span<float> out) {
      chain.forward(k, t, parameters, rows, true, memory[a], out);
    };
    if (chain.adds_parts(k)) {
      add_both(k, {chain.output(k, rows, memory[0]), chain.output(k, rows, memory[1])}, forward);
      for (auto& own : memory)
        chain.finish(k, 0, parameters, rows, own, chain.output(k, rows, own));
    } else {
      for (size_t a = 0; a < 2; ++a)
        for (auto t = here(a, k).begin; t < here(a, k).end; ++t)
          forward(a, t, chain.output(k, t, rows, memory[a]));
    }
  }
  if (chain.splits_scores()) {
    std::vector<std::vector<float>> words(parts, std::vector<float>(rows.row_count * 4));
    std::vector<part_figures> figures;
    for (size_t t = 0; t < parts; ++t) {
      tell_loss(chain, network.loss_with_constants(), t, rows, memory[t / half], words[t]);
      figures.push_back({chain.score_units(t), words[t]});
    }
    for (size_t t = 0; t < parts; ++t)
      made.sums =
        settle_loss(chain, network.loss_with_constants(), t, rows, memory[t / half], figures);
  } else {
    for (auto& own : memory)
      made.sums = whole_loss(chain, network.loss_with_constants(), rows, own);
  }
  for (size_t k = last + 1; k-- > 0;) {
    std::vector<std::span<float>> outs(2);
    for (size_t a = 0; a < 2 && k > 0; ++a)
      outs[a] = chain.delta(k - 1, rows, memory[a]);
    add_both(k, outs, [&](size_t a, size_t t, std::span<float> out) {
      chain.backward(k, t, parameters, rows, memory[a], k > 0 ? out : std::span<float>{});
    });
    for (size_t a = 0; a < 2 && k > 0; ++a)
      chain.derive(k, 0, rows, memory[a], outs[a]);
  }
  chain.for_each_tile([&](size_t k, size_t t, const index_range& elements) {
    const auto a = t < half || t == parts ? 0u : 1u;
    chain.gradient(k, t, rows, memory[a],
                   std::span{made.values}.subspan(elements.begin, elements.size()));
  });
  return made;
}

} // namespace troupe
