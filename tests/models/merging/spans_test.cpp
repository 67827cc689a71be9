// Rules that look at each parameter alone give the same bits whoever owns which span of the model.

#include "models/math/tree_accumulator.hpp"
#include "models/merging/average.hpp"
#include "models/merging/delay_compensation.hpp"
#include "models/merging/outer_rule.hpp"
#include "models/merging/parameter_average.hpp"
#include "models/merging/robust.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace troupe::spans_test {
namespace {

using values = std::vector<float>;

constexpr size_t parameter_count = 3 * norm_block_size + 777;

values some_values(std::mt19937& numbers) {
  std::normal_distribution<float> normal{0, 1};
  values result(parameter_count);
  for (auto& x : result)
    x = normal(numbers);
  return result;
}

/// Spans that begin at blocks, as those of shards do.
std::vector<index_range> cut(std::mt19937& numbers) {
  std::vector<index_range> result{{0, 0}};
  for (size_t begin = norm_block_size; begin < parameter_count; begin += norm_block_size)
    if (numbers() % 2 == 0) {
      result.back().end = begin;
      result.push_back({begin, 0});
    }
  result.back().end = parameter_count;
  return result;
}

/// What a rule makes of the span of all models; it may remember something from round to round.
using span_rule = std::function<values(const std::vector<std::span<const float>>& models)>;

struct named_rule {
  std::string name;
  std::function<span_rule(size_t size)> begin;
};

span_rule plain(const std::function<values(model_list)>& rule) {
  return [rule](const auto& models) { return rule(models); };
}

std::vector<named_rule> rules() {
  const std::vector<double> weights{0.1, 0.25, 0.3, 0.05, 0.3};
  std::vector<named_rule> result{
    {"average", [](size_t) { return plain([](model_list x) { return average(x); }); }},
    {"weighted",
     [=](size_t) { return plain([=](model_list x) { return weighted_sum(x, weights); }); }},
    {"median", [](size_t) { return plain([](model_list x) { return coordinate_median(x); }); }},
    {"trimmed", [](size_t) { return plain([](model_list x) { return trimmed_mean(x, 1); }); }},
    {"elastic", [](size_t) {
       return plain([](model_list x) {
         auto made = elastic_average(x.front(), x.subspan(1), 0.3);
         for (const auto& local : made.locals)
           made.centre.insert(made.centre.end(), local.begin(), local.end());
         return made.centre;
       });
     }}};
  result.push_back({"delay compensation", [](size_t) -> span_rule {
                      auto rule = std::make_shared<delay_compensation>(
                        delay_compensation_options{.lambda = 0.5, .adaptive = true});
                      return [rule](const auto& models) {
                        values gradient{models[0].begin(), models[0].end()};
                        rule->apply(gradient, 3, models[1], models[2]);
                        return gradient;
                      };
                    }});
  for (const auto kind : {outer_kind::replace, outer_kind::sgd, outer_kind::adam, outer_kind::yogi})
    result.push_back({"outer " + std::string{name_of(kind)}, [kind](size_t size) -> span_rule {
                        outer_options options;
                        options.kind = kind;
                        if (kind == outer_kind::sgd)
                          options.momentum = 0.9;
                        auto rule = std::make_shared<outer_rule>(options, size);
                        return [rule](const auto& models) {
                          values next(models[0].size());
                          EXPECT_TRUE(rule->apply(models[0], models[1], next));
                          return next;
                        };
                      }});
  for (const auto kind : {averaging_kind::mean, averaging_kind::exponential})
    result.push_back(
      {"averaging " + std::string{name_of(kind)}, [kind](size_t) -> span_rule {
         auto rule = std::make_shared<parameter_average>(averaging_options{kind, 0.9});
         return [rule](const auto& models) {
           rule->add(rule->count(), models[0]);
           return rule->values();
         };
       }});
  return result;
}

TEST(spans, rules_of_single_parameters_have_the_bits_of_the_whole) {
  std::mt19937 numbers{5};
  for (const auto& rule : rules())
    for (int trial = 0; trial < 4; ++trial) {
      const auto spans = cut(numbers);
      const auto whole = rule.begin(parameter_count);
      std::vector<span_rule> parts;
      for (const auto& span : spans)
        parts.push_back(rule.begin(span.size()));
      for (int round = 0; round < 3; ++round) {
        std::vector<values> models;
        for (int i = 0; i < 5; ++i)
          models.push_back(some_values(numbers));
        const auto expected = whole({models.begin(), models.end()});
        const auto vectors = expected.size() / parameter_count; // elastic: the centre, then each
        values actual(expected.size());
        for (size_t k = 0; k < spans.size(); ++k) {
          std::vector<std::span<const float>> views;
          for (const auto& model : models)
            views.push_back(std::span{model}.subspan(spans[k].begin, spans[k].size()));
          const auto made = parts[k](views);
          ASSERT_EQ(made.size(), vectors * spans[k].size());
          for (size_t v = 0; v < vectors; ++v)
            std::copy_n(
              made.begin() + static_cast<std::ptrdiff_t>(v * spans[k].size()), spans[k].size(),
              actual.begin() + static_cast<std::ptrdiff_t>(v * parameter_count + spans[k].begin));
        }
        ASSERT_EQ(actual, expected) << rule.name << ", round " << round;
      }
    }
}

} // namespace
} // namespace troupe::spans_test
