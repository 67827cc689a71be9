#include "data/model_file/importance.hpp"

#include "data/table/column_plan.hpp"
#include "models/base/index_range.hpp"
#include "models/base/random.hpp"

#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace troupe {

namespace {

/// The first repetitions are the same whatever their number.
constexpr uint64_t repeats_max = uint64_t{1} << 20;

/// Features that are made of one column of the file.
struct column_features {
  std::string name;
  index_range features;
};

std::vector<column_features> columns_of(const saved_model& model) {
  std::vector<column_features> result;
  size_t begin = 0;
  const auto add = [&](const std::string& name, size_t count) {
    result.push_back({name, {begin, begin + count}});
    begin += count;
  };
  if (model.columns.empty())
    for (const auto& name : model.feature_names)
      add(name, 1);
  for (const auto& column : model.columns.columns)
    add(column.name, feature_names_of({{column}, {}, {}, {}}).size());
  return result;
}

struct judged_figures {
  double loss = 0;
  double score = 0;
};

/// One thread's copy of the rows, in which it deals out a column.
class dealt_rows {
public:
  dealt_rows(const saved_model& model, const dataset& rows, double total_squares)
    : rows_(rows), total_squares_(total_squares), features_(rows.features), predict_(model) {}

  judged_figures judged() {
    batch all;
    all.row_count = rows_.row_count;
    all.features = features_;
    all.labels = rows_.labels;
    all.targets = rows_.targets;
    all.weights = rows_.weights;
    const auto sums = predict_.evaluate(all);
    const auto count = static_cast<double>(sums.sample_count);
    return {sums.loss_sum / count,
            rows_.is_classification()
              ? static_cast<double>(sums.correct_count) / count
              : 1 - sums.squared_error_sum / (total_squares_ > 0 ? total_squares_ : 1)};
  }

  judged_figures judged_with(const index_range& features, const std::vector<uint32_t>& order) {
    const auto width = rows_.feature_count;
    for (size_t row = 0; row < order.size(); ++row)
      for (auto j = features.begin; j < features.end; ++j)
        features_[row * width + j] = rows_.features[order[row] * width + j];
    const auto result = judged();
    for (size_t row = 0; row < order.size(); ++row)
      for (auto j = features.begin; j < features.end; ++j)
        features_[row * width + j] = rows_.features[row * width + j];
    return result;
  }

private:
  const dataset& rows_;
  double total_squares_;
  std::vector<float> features_;
  predictor predict_;
};

repeated_figure repeated(const std::vector<double>& values) {
  repeated_figure result;
  for (const double value : values)
    result.mean += value / static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values)
    squares += (value - result.mean) * (value - result.mean);
  result.deviation = std::sqrt(squares / static_cast<double>(values.size()));
  return result;
}

/// Does tasks 0 .. count - 1, each by one of the threads: `work(rows, task)`.
template <class MakeRows, class Work>
void share_out(size_t count, size_t threads, MakeRows make_rows, Work work) {
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr first;
  const auto run = [&] {
    try {
      auto rows = make_rows();
      for (size_t task = next++; task < count; task = next++)
        work(rows, task);
    } catch (...) {
      const std::lock_guard lock{mutex};
      first = first ? first : std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (size_t i = 1; i < std::min(threads, count); ++i)
        others.emplace_back(run);
    } catch (const std::system_error&) { // no more threads: those that there are do it
    }
    run();
  }
  if (first)
    std::rethrow_exception(first);
}

} // namespace

importance_figures importance_of(const saved_model& model, const dataset& rows,
                                 const importance_options& options) {
  const auto columns = columns_of(model);
  if (rows.is_sparse() || columns.empty())
    throw std::invalid_argument("importance: sparse rows have no columns");
  if (rows.row_count == 0 || rows.features.size() != rows.row_count * rows.feature_count ||
      columns.back().features.end != rows.feature_count || options.repeats == 0 ||
      options.repeats > repeats_max)
    throw std::invalid_argument("importance: the rows are not the model's, or none are asked for");
  const auto make_rows = [&, squares = rows.is_classification() ? 0.0 : total_squares(rows)] {
    return dealt_rows{model, rows, squares};
  };
  const auto plain = make_rows().judged();
  std::vector<judged_figures> found(columns.size() * options.repeats);
  share_out(found.size(), options.threads, make_rows, [&](dealt_rows& dealt, size_t task) {
    const auto order =
      random_permutation({options.seed, random_purpose::importance,
                          task / options.repeats * repeats_max + task % options.repeats},
                         static_cast<uint32_t>(rows.row_count));
    found[task] = dealt.judged_with(columns[task / options.repeats].features, order);
  });
  importance_figures result{plain.loss, plain.score, {}};
  for (size_t c = 0; c < columns.size(); ++c) {
    std::vector<double> losses, scores;
    for (size_t i = 0; i < options.repeats; ++i) {
      const auto& x = found[c * options.repeats + i];
      losses.push_back(x.loss - plain.loss);
      scores.push_back(plain.score - x.score);
    }
    result.columns.push_back({columns[c].name, repeated(losses), repeated(scores)});
  }
  return result;
}

} // namespace troupe
