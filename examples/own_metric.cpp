// Your own metric in the troupe command: the share of rows whose class is among the three
// likeliest.
//
// This program is the command, on one machine or as nodes of a cluster, with one metric more
// (docs/open.md):
//
//   build/bin/example_own_metric train examples/digits.toml --set 'training.metrics=["top-3", "auc"]'

#include <troupe/command.hpp>

#include <algorithm>
#include <memory>
#include <stdexcept>

namespace {

using namespace troupe;

struct top_options {
  size_t count = 3;
};

class top_metric : public metric {
public:
  explicit top_metric(size_t count) : count_(count) {}

  size_t sum_count() const override { return 2; } // rows, and those among the likeliest

  // Rows come chunk by chunk; these sums are all that is kept of them.
  void add(const judged_rows& rows, std::span<double> sums) const override {
    for (size_t i = 0; i < rows.row_count; ++i) {
      const auto row = rows.row(i);
      const float own = row[static_cast<size_t>(rows.labels[i])];
      const auto likelier = std::ranges::count_if(row, [=](float p) { return p > own; });
      sums[0] += 1;
      sums[1] += static_cast<size_t>(likelier) < count_ ? 1 : 0;
    }
  }

  std::optional<double> value(std::span<const double> sums) const override {
    return sums[0] > 0 ? std::optional{sums[1] / sums[0]} : std::nullopt;
  }

private:
  size_t count_;
};

} // namespace

int main(int argc, char** argv) {
  metrics().add<top_options>(
    "top-3", {1, "share of rows whose class is among the three likeliest"},
    {option("count", &top_options::count, at_least(1), "how many are the likeliest")},
    [](const top_options& x, const metric_input& input) {
      if (!input.is_classification())
        throw std::invalid_argument("it judges classes, and the targets are numbers");
      return std::make_unique<top_metric>(x.count);
    });
  return run_command(argc, argv);
}
