// Faults planted in a metric, each found by its check; none in the library's own.

#include "models/verify/verify.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace troupe::verify_metric_test {
namespace {

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

} // namespace

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
  EXPECT_EQ(judged, 7u);
}

} // namespace troupe::verify_metric_test
