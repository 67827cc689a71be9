#include "models/base/bit_hash.hpp"
#include "models/base/copy_values.hpp"
#include "models/base/random.hpp"
#include "models/base/rounding.hpp"
#include "models/verify/verify.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

namespace troupe {

namespace {

using values = std::vector<float>;

constexpr float no_number = std::numeric_limits<float>::quiet_NaN();
constexpr size_t poisoned_slots = 64, poisoned_floats = 4096;
constexpr size_t alignments = 16; // floats of a cache line
constexpr size_t random_directions = 4;

size_t first_difference(std::span<const float> a, std::span<const float> b) {
  size_t i = 0;
  while (same_bits(a.subspan(i, 1), b.subspan(i, 1)))
    ++i;
  return i;
}

bool are_finite(std::span<const float> x) {
  return std::ranges::all_of(x, [](float value) { return std::isfinite(value); });
}

double dot(std::span<const float> a, std::span<const float> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0, std::plus<>{},
                            [](float x, float y) { return double{x} * double{y}; });
}

double norm(std::span<const float> a) {
  return std::sqrt(dot(a, a));
}

/// Rows with targets of every loss's range, in memory of their own.
struct made_rows {
  values features, targets;
  std::vector<int32_t> labels;
  size_t width = 0, outputs = 0;
  bool has_labels = false;

  made_rows(const model& x, uint64_t seed, size_t count)
    : features(made_values(seed, 101, count * x.feature_count(), -1.5f, 1.5f)),
      targets(made_values(seed, 102, count * x.output_count(), 0.5f, 2)),
      width(x.feature_count()),
      outputs(x.output_count()),
      has_labels(is_classification(x.loss())) {
    const auto classes = is_binary(x.loss()) ? 2 : outputs;
    for (size_t i = 0; i < count; ++i)
      labels.push_back(static_cast<int32_t>((i * 7 + 3) % classes));
  }

  batch part(size_t begin, size_t count) const {
    batch result;
    result.row_count = count;
    result.first_row = begin;
    result.features = std::span{features}.subspan(begin * width, count * width);
    if (has_labels)
      result.labels = std::span{labels}.subspan(begin, count);
    else
      result.targets = std::span{targets}.subspan(begin * outputs, count * outputs);
    return result;
  }
};

struct outcome {
  values gradient;
  batch_sums sums;

  bool is_same(const outcome& other) const {
    return same_bits(gradient, other.gradient) && sums == other.sums;
  }
};

class verifier {
public:
  verifier(const model& x, const verify_options& options)
    : model_(x),
      options_(options),
      rows_(x, options.seed, std::max<size_t>(options.rows, 4)),
      count_(rows_.labels.size()),
      size_(x.layout().size()),
      parameters_(size_) {
    model_.initialize(options.seed, parameters_);
  }

  std::vector<finding> result() && {
    check_initial_values();
    const auto plain = gradient_of(rows_.part(0, count_));
    if (!are_finite(plain.gradient) || !std::isfinite(plain.sums.loss_sum))
      add("gradient", "of the initial values", "is not finite");
    check_written(plain);
    check_memory(plain);
    check_pure(plain);
    check_alignment(plain);
    if (!options_.has_dropout) {
      check_counted(plain);
      check_sums(plain);
      check_derivatives(plain);
    }
    check_predictions();
    return std::move(found_);
  }

private:
  void add(std::string check, std::string where, std::string what) {
    found_.push_back({std::move(check), std::move(where), std::move(what)});
  }

  outcome gradient_of(const batch& rows, workspace& memory, float before = 0) const {
    outcome result{values(size_, before), {}};
    result.sums = model_.gradient(parameters_, rows, result.gradient, memory);
    return result;
  }
  outcome gradient_of(const batch& rows) const {
    workspace memory;
    return gradient_of(rows, memory);
  }

  double loss_at(std::span<const float> parameters) const {
    workspace memory;
    return model_.evaluate(parameters, rows_.part(0, count_), memory).loss_sum;
  }

  /// The tensor of an element, in working order; models without pieces have one order.
  std::string place_of(size_t element) const {
    if (model_.layout().pieces().empty())
      for (const auto& tensor : model_.layout().tensors())
        if (element >= tensor.offset && element < tensor.offset + tensor.size)
          return tensor.name + ", element " + std::to_string(element - tensor.offset);
    return "element " + std::to_string(element);
  }

  void check_initial_values() {
    if (!are_finite(parameters_))
      add("initial values", "all", "are not finite");
    values again(size_);
    model_.initialize(options_.seed, again);
    if (!same_bits(parameters_, again))
      return add("initial values", place_of(first_difference(parameters_, again)),
                 "the same seed gives other values");
    for (const size_t parts : {size_t{2}, size_t{3}, std::min<size_t>(size_, 31)})
      for (size_t i = 0; i < parts; ++i) {
        const index_range part{i * size_ / parts, (i + 1) * size_ / parts};
        values own(part.size(), no_number);
        model_.initialize(options_.seed, part, own);
        const auto whole = std::span{parameters_}.subspan(part.begin, part.size());
        if (!same_bits(own, whole))
          return add("initial values", place_of(part.begin + first_difference(own, whole)),
                     "a range made by itself has other values than in the whole");
      }
  }

  void expect_same(const outcome& plain, const outcome& other, const char* check,
                   const std::string& what) {
    if (plain.is_same(other))
      return;
    const bool differs = !same_bits(plain.gradient, other.gradient);
    add(check, differs ? place_of(first_difference(plain.gradient, other.gradient)) : "sums", what);
  }

  void check_written(const outcome& plain) {
    workspace memory;
    expect_same(plain, gradient_of(rows_.part(0, count_), memory, no_number), "written",
                "the gradient depends on what was in its buffer: write each value, add to none");
  }

  void check_memory(const outcome& plain) {
    workspace memory;
    for (size_t i = 0; i < poisoned_slots; ++i)
      std::ranges::fill(memory.slot(i, poisoned_floats), no_number);
    expect_same(plain, gradient_of(rows_.part(0, count_), memory), "memory",
                "the gradient depends on what was in the workspace");
  }

  void check_pure(const outcome& plain) {
    workspace memory;
    gradient_of(rows_.part(0, count_), memory);
    gradient_of(rows_.part(1, count_ / 2), memory);
    expect_same(plain, gradient_of(rows_.part(0, count_), memory), "pure",
                "the same call gives another gradient when other rows were computed in between");
  }

  void check_alignment(const outcome& plain) {
    for (size_t shift = 1; shift < alignments; ++shift) {
      values parameters(size_ + shift), gradient(size_ + shift),
        features(rows_.features.size() + shift);
      copy_values(std::span<const float>{parameters_}, parameters.begin() + std::ptrdiff_t(shift));
      copy_values(std::span<const float>{rows_.features}, features.begin() + std::ptrdiff_t(shift));
      auto rows = rows_.part(0, count_);
      rows.features = std::span<const float>{features}.subspan(shift);
      workspace memory;
      const auto sums = model_.gradient(std::span{parameters}.subspan(shift), rows,
                                        std::span{gradient}.subspan(shift), memory);
      gradient.erase(gradient.begin(), gradient.begin() + std::ptrdiff_t(shift));
      const outcome other{std::move(gradient), sums};
      if (!plain.is_same(other))
        return expect_same(plain, other, "alignment",
                           "other bits when buffers begin " + std::to_string(4 * shift) +
                             " bytes further on");
    }
  }

  void check_counted(const outcome& plain) {
    if (plain.sums.sample_count != count_)
      add("counted", "gradient",
          std::to_string(count_) + " rows, but " + std::to_string(plain.sums.sample_count) +
            " samples");
    workspace memory;
    const auto evaluated = model_.evaluate(parameters_, rows_.part(0, count_), memory);
    if (evaluated.sample_count != count_)
      add("counted", "evaluate",
          std::to_string(count_) + " rows, but " + std::to_string(evaluated.sample_count) +
            " samples");
    if (!is_near(evaluated.loss_sum, plain.sums.loss_sum, 1e-6))
      add("counted", "loss",
          "evaluate has " + std::to_string(evaluated.loss_sum) + ", gradient tells " +
            std::to_string(plain.sums.loss_sum));
  }

  static bool is_near(double a, double b, double share) {
    return std::abs(a - b) <= share * (std::abs(a) + std::abs(b) + 1e-12);
  }

  void check_sums(const outcome& plain) {
    const auto half = count_ / 3; // parts of two sizes: means of these would not add up
    const auto a = gradient_of(rows_.part(0, half));
    const auto b = gradient_of(rows_.part(half, count_ - half));
    if (!is_near(a.sums.loss_sum + b.sums.loss_sum, plain.sums.loss_sum, 1e-4))
      add("sums", "loss",
          std::to_string(a.sums.loss_sum) + " and " + std::to_string(b.sums.loss_sum) +
            " of parts of the rows, " + std::to_string(plain.sums.loss_sum) +
            " of all: is it a mean?");
    values difference(size_);
    for (size_t i = 0; i < size_; ++i)
      difference[i] = a.gradient[i] + b.gradient[i] - plain.gradient[i];
    const auto scale = norm(a.gradient) + norm(b.gradient) + norm(plain.gradient);
    if (!(norm(difference) <= 1e-4 * scale))
      add("sums",
          place_of(static_cast<size_t>(
            std::ranges::max_element(difference, {}, [](float x) { return std::abs(x); }) -
            difference.begin())),
          "gradients of parts of the rows do not add up to that of all: is it a mean?");
  }

  // ---- Derivatives

  /// The loss's slope along `direction`, of norm 1, by a central difference of this length.
  double slope_along(std::span<const float> direction, double length) const {
    auto there = parameters_, back = parameters_;
    double apart = 0; // as they came to be: parameters are rounded
    for (size_t i = 0; i < size_; ++i) {
      there[i] += static_cast<float>(length) * direction[i];
      back[i] -= static_cast<float>(length) * direction[i];
      apart += (double{there[i]} - double{back[i]}) * double{direction[i]};
    }
    return (loss_at(there) - loss_at(back)) / apart;
  }

  /// The slope that is nearest to `said`, if none agrees with it; lengths go down as long as the loss's own
  /// rounding is small beside the whole gradient. Near a corner of the loss short ones alone are right.
  std::optional<double> other_slope(std::span<const float> direction, double said, double norm,
                                    double whole_norm) const {
    const auto rounding = 2e-7 * std::abs(loss_at(parameters_));
    std::optional<double> nearest;
    for (const double length : {1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4}) {
      if (nearest && rounding / length > 0.01 * whole_norm)
        break;
      const auto seen = slope_along(direction, length);
      if (std::abs(seen - said) <= 1e-3 * norm + 2 * rounding / length)
        return std::nullopt;
      if (!nearest || std::abs(seen - said) < std::abs(*nearest - said))
        nearest = seen;
    }
    return nearest;
  }

  void check_derivatives(const outcome& plain) {
    if (!model_.layout().pieces().empty()) // parts of tensors lie apart: seen as one
      return check_tensor(plain, "all", {0, size_});
    for (const auto& tensor : model_.layout().tensors())
      check_tensor(plain, tensor.name, {tensor.offset, tensor.offset + tensor.size});
  }

  void check_tensor(const outcome& plain, const std::string& name, const index_range& elements) {
    const auto own = std::span{plain.gradient}.subspan(elements.begin, elements.size());
    const auto length = norm(own);
    for (size_t k = 0; k <= random_directions; ++k) {
      values direction(size_);
      const auto part = std::span{direction}.subspan(elements.begin, elements.size());
      if (k == 0)
        copy_values(own, part.begin());
      else
        fill_normal({options_.seed, random_purpose::initialization, 200 + k}, elements.begin, 1,
                    part);
      const auto scale = norm(part);
      if (!(scale > 0) || !std::isfinite(scale))
        continue;
      for (auto& value : part)
        value = static_cast<float>(value / scale);
      const auto said = dot(own, part);
      if (const auto seen = other_slope(direction, said, length, norm(plain.gradient)))
        return add(
          "gradient", name,
          (k == 0 ? "along itself the loss rises by " : "along a direction the loss rises by ") +
            std::to_string(*seen) + ", the gradient says " + std::to_string(said));
    }
  }

  void check_predictions() {
    workspace memory;
    const auto count = count_ * model_.prediction_count();
    values first(count, no_number), second(count, 0);
    model_.predict(parameters_, rows_.part(0, count_), first, memory);
    model_.predict(parameters_, rows_.part(0, count_), second, memory);
    if (!same_bits(first, second))
      add("written", "predictions", "depend on what was in their buffer");
    else if (!are_finite(first))
      add("written", "predictions", "are not finite");
  }

  const model& model_;
  verify_options options_;
  made_rows rows_;
  size_t count_;
  size_t size_;
  values parameters_;
  std::vector<finding> found_;
};

} // namespace

std::vector<finding> verify_model(const model& x, const verify_options& options) {
  const default_rounding rounding;
  auto found = verifier{x, options}.result();
  const auto of_gradient = [](const finding& one) { return one.check == "gradient"; };
  if (!std::ranges::any_of(found, of_gradient))
    return found;
  // These rows may lie on a corner of the loss. A gradient that is wrong is wrong of others too.
  auto others = options;
  ++others.seed;
  const auto again = verifier{x, others}.result();
  std::erase_if(found, [&](const finding& one) {
    return of_gradient(one) && std::ranges::none_of(again, [&](const finding& other) {
             return of_gradient(other) && other.where == one.where;
           });
  });
  return found;
}

std::string findings_text(const std::vector<finding>& found) {
  std::string result;
  for (const auto& x : found)
    result += x.check + ", " + x.where + ": " + x.what + '\n';
  return result;
}

} // namespace troupe
