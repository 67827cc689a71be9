// Every check of the contract tests sees the fault that it is there for, and says where it is.

#include "models/losses/evaluate_loss.hpp"
#include "models/network/neural_network.hpp"
#include "models/optimizers/optimizer.hpp"
#include "models/verify/verify.hpp"
#include "tests/support/wave.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace troupe::verify_test {
namespace {

// ---- Models

enum class fault {
  none,
  wrong_bias,
  swapped_sign,
  missing_weight,
  mean_gradient,
  mean_loss,
  samples_not_counted,
  other_loss,
  added,
  reads_memory,
  remembers,
  aligned,
  not_finite,
  initial_by_call,
  initial_by_range,
  initial_not_finite,
  prediction_added
};

// s = w x + b, with a fault.
class faulty_model : public model {
public:
  explicit faulty_model(fault what) : model(3, 1, loss_kind::squared), fault_(what) {
    layout_.add("weight", {1, 3});
    layout_.add("bias", {1});
  }

  batch_sums evaluate(std::span<const float> p, const batch& rows,
                      workspace& memory) const override {
    const auto s = scores(p, rows, memory);
    auto sums = evaluate_loss(loss_with_constants(), rows, s, 1, s);
    if (fault_ == fault::other_loss)
      sums.loss_sum *= 1.01;
    return mean_if_asked(sums);
  }

private:
  void do_initialize(uint64_t seed, const index_range& elements,
                     std::span<float> out) const override {
    for (size_t i = 0; i < out.size(); ++i) {
      const auto place = fault_ == fault::initial_by_range ? i : elements.begin + i;
      out[i] = 0.1f * static_cast<float>(place + seed);
    }
    if (fault_ == fault::initial_by_call)
      out[0] += static_cast<float>(++calls_);
    if (fault_ == fault::initial_not_finite)
      out[0] = INFINITY;
  }

  batch_sums mean_if_asked(batch_sums sums) const {
    if (fault_ == fault::mean_loss)
      sums.loss_sum /= static_cast<double>(sums.sample_count);
    if (fault_ == fault::samples_not_counted)
      sums.sample_count = 1;
    return sums;
  }

  batch_sums do_gradient(std::span<const float> p, const batch& rows, std::span<float> out,
                         workspace& memory, const gradient_listener*) const override {
    const auto d = scores(p, rows, memory);
    const auto sums = evaluate_loss(loss_with_constants(), rows, d, 1, d);
    if (fault_ != fault::added)
      std::ranges::fill(out, 0.0f);
    for (size_t i = 0; i < rows.row_count; ++i) {
      for (size_t f = 0; f < 3; ++f)
        out[f] += d[i] * rows.features[3 * i + f];
      out[3] += d[i];
    }
    const auto scratch = memory.slot(1, 1);
    if (fault_ == fault::reads_memory)
      out[1] += scratch[0];
    if (fault_ == fault::wrong_bias)
      out[3] *= 1.01f;
    if (fault_ == fault::swapped_sign)
      out[1] = -out[1];
    if (fault_ == fault::missing_weight)
      out[2] = 0;
    if (fault_ == fault::not_finite)
      out[2] = NAN;
    if (fault_ == fault::mean_gradient)
      for (auto& value : out)
        value /= static_cast<float>(rows.row_count);
    if (fault_ == fault::remembers)
      out[0] += 1e-3f * static_cast<float>(calls_++);
    if (fault_ == fault::aligned && std::bit_cast<uintptr_t>(p.data()) % 16 != 0)
      out[0] = std::nextafter(out[0], 100.0f);
    return mean_if_asked(sums);
  }

  void do_predict(std::span<const float> p, const batch& rows, std::span<float> out,
                  workspace& memory) const override {
    if (fault_ == fault::prediction_added)
      out[0] += 1;
    else
      predict_from_scores(loss_with_constants(), scores(p, rows, memory), 1, out);
  }

  std::span<float> scores(std::span<const float> p, const batch& rows, workspace& memory) const {
    const auto out = memory.slot(0, rows.row_count);
    for (size_t i = 0; i < rows.row_count; ++i)
      out[i] = p[3] + p[0] * rows.features[3 * i] + p[1] * rows.features[3 * i + 1] +
               p[2] * rows.features[3 * i + 2];
    return out;
  }

  fault fault_;
  mutable int calls_ = 0;
};

struct planted {
  fault what;
  std::string check, where;
};

TEST(verify_model, finds_each_fault_where_it_is) {
  const planted all[] = {{fault::wrong_bias, "gradient", "bias"},
                         {fault::swapped_sign, "gradient", "weight"},
                         {fault::missing_weight, "gradient", "weight"},
                         {fault::mean_gradient, "sums", ""},
                         {fault::mean_loss, "sums", "loss"},
                         {fault::samples_not_counted, "counted", "gradient"},
                         {fault::other_loss, "counted", "loss"},
                         {fault::added, "written", "weight, element 0"},
                         {fault::reads_memory, "memory", "weight, element 1"},
                         {fault::remembers, "pure", "weight, element 0"},
                         {fault::aligned, "alignment", "weight, element 0"},
                         {fault::not_finite, "gradient", "of the initial values"},
                         {fault::initial_by_call, "initial values", "weight, element 0"},
                         {fault::initial_by_range, "initial values", "weight"},
                         {fault::initial_not_finite, "initial values", "all"},
                         {fault::prediction_added, "written", "predictions"}};
  for (const auto& one : all) {
    const auto found = verify_model(faulty_model{one.what});
    EXPECT_TRUE(std::ranges::any_of(
      found,
      [&](const finding& x) { return x.check == one.check && x.where.starts_with(one.where); }))
      << one.check << ", " << one.where << ":\n"
      << findings_text(found);
  }
}

TEST(verify_model, finds_nothing_in_a_model_without_fault) {
  EXPECT_EQ(findings_text(verify_model(faulty_model{fault::none})), "");
  add_wave();
  const auto waves =
    make_own_model({"wave", {{"harmonics", int64_t{3}}}}, {1, 1, loss_kind::huber});
  EXPECT_EQ(findings_text(verify_model(*waves)), "");
}

TEST(verify_model, finds_nothing_in_networks_of_every_loss_and_activation) {
  for (const auto& [loss, loss_name] : name_table<loss_kind>::entries)
    for (const auto& [activation, name] : name_table<activation_kind>::entries) {
      const neural_network network{{5, is_binary(loss) ? 1u : 3u, {7}, activation, loss}};
      EXPECT_EQ(findings_text(verify_model(network)), "") << loss_name << ' ' << name;
    }
}

TEST(verify_model, a_network_with_dropout_or_in_parts_is_looked_at_too) {
  neural_network_options options{4, 3, {8, 6}};
  options.parts = 2;
  EXPECT_EQ(findings_text(verify_model(neural_network{options})), "");
  options.parts = 1;
  options.dropout = 0.5;
  EXPECT_EQ(findings_text(verify_model(neural_network{options}, {.has_dropout = true})), "");
  EXPECT_NE(findings_text(verify_model(neural_network{options})), "");
}

// ---- Optimizers

enum class rule_fault {
  none,
  looks_at_neighbours,
  counts_calls,
  state_without_offset,
  state_beyond,
  writes_parameters,
  swallows,
  up_the_bowl,
  part_written,
  aligned
};

// m' = m / 2 + g;  p' = p - a m'
class faulty_rule : public optimizer {
public:
  explicit faulty_rule(rule_fault what) : optimizer(optimizer_options{}), fault_(what) {}

  size_t slot_count() const override { return 1; }

  void update(const update_step& step, const update_piece& x,
              const optimizer_state& state) const override {
    float* m = state.slot(0).data() + (fault_ == rule_fault::state_without_offset ? 0 : x.offset);
    float rate = step.learning_rate;
    if (fault_ == rule_fault::counts_calls)
      rate *= static_cast<float>(++calls_);
    if (fault_ == rule_fault::up_the_bowl)
      rate = -rate;
    if (fault_ == rule_fault::aligned && std::bit_cast<uintptr_t>(x.parameters) % 16 != 0)
      rate *= 1.000001f;
    for (size_t i = 0; i < x.count; ++i) {
      float g = x.gradient_sum[i] * step.gradient_factor;
      if (fault_ == rule_fault::looks_at_neighbours && i > 0)
        g += x.gradient_sum[i - 1];
      if (fault_ == rule_fault::swallows && !(std::abs(g) < 1e30f))
        g = 0;
      m[i] = m[i] / 2 + g;
      if (fault_ != rule_fault::part_written || i % 8 != 5)
        x.next[i] = x.parameters[i] - rate * m[i];
    }
    if (fault_ == rule_fault::state_beyond && x.offset > 0)
      m[x.count] = 1;
    if (fault_ == rule_fault::writes_parameters)
      const_cast<float*>(x.parameters)[0] = 0;
  }

private:
  rule_fault fault_;
  mutable int calls_ = 0;
};

TEST(verify_optimizer, finds_each_fault) {
  const std::pair<rule_fault, std::string> all[] = {{rule_fault::looks_at_neighbours, "pieces"},
                                                    {rule_fault::counts_calls, "pure"},
                                                    {rule_fault::state_without_offset, "pieces"},
                                                    {rule_fault::state_beyond, "pieces"},
                                                    {rule_fault::writes_parameters, "inputs"},
                                                    {rule_fault::swallows, "not finite"},
                                                    {rule_fault::up_the_bowl, "descends"},
                                                    {rule_fault::part_written, "written"},
                                                    {rule_fault::aligned, "alignment"}};
  for (const auto& [what, check] : all) {
    const auto found = verify_optimizer(faulty_rule{what});
    EXPECT_NE(std::ranges::find(found, check, &finding::check), found.end())
      << check << ":\n"
      << findings_text(found);
  }
}

TEST(verify_optimizer, finds_nothing_in_rules_without_fault) {
  EXPECT_EQ(findings_text(verify_optimizer(faulty_rule{rule_fault::none})), "");
  for (const auto& [kind, name] : name_table<optimizer_kind>::entries) {
    if (scope_of(kind) != optimizer_scope::element_wise)
      continue;
    optimizer_options options;
    options.kind = kind;
    EXPECT_EQ(findings_text(verify_optimizer(*make_optimizer(options))), "") << name;
  }
}

// Faults planted in a metric, each found by its check; none in the library's own.

enum class metric_fault {
  none,
  overwrites,
  adds_means,
  counts_calls,
  has_no_sums,
  divides_by_zero
};

// Mean prediction.
class faulty_metric : public metric {
public:
  explicit faulty_metric(metric_fault what) : fault_(what) {}

  size_t sum_count() const override { return fault_ == metric_fault::has_no_sums ? 0 : 2; }

  void add(const judged_rows& rows, std::span<double> sums) const override {
    if (fault_ == metric_fault::overwrites)
      sums[0] = 0;
    const double count = static_cast<double>(rows.predictions.size());
    for (const float p : rows.predictions)
      sums[0] += fault_ == metric_fault::adds_means ? p / count : p;
    sums[1] += fault_ == metric_fault::counts_calls ? count + ++calls_ : count;
  }

  std::optional<double> value(std::span<const double> sums) const override {
    return sums[0] / (fault_ == metric_fault::divides_by_zero ? sums[1] - sums[1] : sums[1]);
  }

private:
  metric_fault fault_;
  mutable int calls_ = 0;
};

TEST(verify_metric, finds_each_fault) {
  const std::pair<metric_fault, std::string> all[] = {
    {metric_fault::overwrites, "sums"},
    {metric_fault::adds_means, "sums"},
    {metric_fault::counts_calls, "pure"},
    {metric_fault::has_no_sums, "counted"},
    {metric_fault::divides_by_zero, "not finite"}};
  for (const auto& input :
       {metric_input{3, loss_kind::categorical_cross_entropy}, metric_input{2, loss_kind::squared}})
    for (const auto& [what, check] : all) {
      const auto found = verify_metric(faulty_metric{what}, input);
      EXPECT_NE(std::ranges::find(found, check, &finding::check), found.end())
        << check << ":\n"
        << findings_text(found);
    }
}

TEST(verify_metric, finds_nothing_in_those_of_the_library) {
  const metric_input classes{3, loss_kind::categorical_cross_entropy},
    numbers{2, loss_kind::squared};
  EXPECT_EQ(findings_text(verify_metric(faulty_metric{metric_fault::none}, classes)), "");
  size_t judged = 0;
  for (const auto& name : metrics().names())
    for (const auto& input : {classes, numbers}) {
      try {
        EXPECT_EQ(findings_text(verify_metric(*metrics().make({name, {}}, input), input)), "")
          << name;
        ++judged;
      } catch (const std::invalid_argument&) { // of the other kind of targets
      }
    }
  EXPECT_EQ(judged, 8u);
}

} // namespace
} // namespace troupe::verify_test
