#include "models/base/bit_hash.hpp"
#include "models/base/rounding.hpp"
#include "models/verify/verify.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace troupe {

namespace {

using values = std::vector<float>;

constexpr size_t value_count = 103; ///< no multiple of any vector's width
constexpr uint64_t step_count = 4;
constexpr size_t margin = 16; ///< of the state, before and behind what is updated
constexpr uint64_t bowl_steps = 50;

/// What some steps lead to: parameters and the state.
struct outcome {
  values parameters;
  std::vector<values> slots;

  bool is_same(const outcome& x) const {
    if (!same_bits(parameters, x.parameters))
      return false;
    for (size_t i = 0; i < slots.size(); ++i)
      if (!same_bits(slots[i], x.slots[i]))
        return false;
    return true;
  }
};

class verifier {
public:
  verifier(const optimizer& x, const verify_options& options) : rule_(x), options_(options) {}

  std::vector<finding> result() && {
    const auto plain = steps({});
    check_finite(plain);
    if (!plain.is_same(steps({})))
      add("pure", "update", "the same steps give other bits");
    for (const size_t pieces : {size_t{2}, size_t{7}, value_count})
      if (!plain.is_same(steps({.pieces = pieces}))) {
        add("pieces", std::to_string(pieces) + " pieces",
            "give other bits than one: the rule must treat each element by itself, and find its "
            "state at `offset`");
        break;
      }
    for (size_t shift = 1; shift < margin; ++shift)
      if (!plain.is_same(steps({.shift = shift}))) {
        add("alignment", "buffers",
            "other bits when they begin " + std::to_string(4 * shift) + " bytes further on");
        break;
      }
    check_not_finite(plain);
    check_bowl();
    return std::move(found_);
  }

private:
  struct way {
    size_t pieces = 1;
    size_t shift = 0;              ///< of all buffers, in floats
    bool has_bad_gradient = false; ///< element 50 of the last step's is no number
  };

  void add(std::string check, std::string where, std::string what) {
    const finding news{std::move(check), std::move(where), std::move(what)};
    if (std::ranges::find(found_, news) == found_.end())
      found_.push_back(news);
  }

  outcome steps(const way& how) {
    const size_t size = value_count + 2 * margin;
    const optimizer_state state{rule_.slot_count(), size};
    values parameters(how.shift);
    const auto begin = made_values(options_.seed, 0, value_count, -1, 1);
    parameters.insert(parameters.end(), begin.begin(), begin.end());
    for (uint64_t t = 0; t < step_count; ++t) {
      values gradient(how.shift);
      const auto own = made_values(options_.seed, t + 1, value_count, -3, 3);
      gradient.insert(gradient.end(), own.begin(), own.end());
      if (how.has_bad_gradient && t + 1 == step_count)
        gradient[how.shift + bad_element] = std::numeric_limits<float>::quiet_NaN();
      values next(how.shift + value_count, std::numeric_limits<float>::quiet_NaN());
      const auto before = parameters, given = gradient;
      const auto step = rule_.begin_step(t, 7, direction::descent);
      for (size_t k = 0; k < how.pieces; ++k) {
        const auto first = k * value_count / how.pieces;
        const auto end = (k + 1) * value_count / how.pieces;
        rule_.update(step,
                     {gradient.data() + how.shift + first, parameters.data() + how.shift + first,
                      next.data() + how.shift + first, margin + first, end - first},
                     state);
      }
      if (!same_bits(before, parameters) || !same_bits(given, gradient))
        add("inputs", "update", "changes the parameters or the gradient it reads");
      parameters = next;
    }
    outcome result;
    result.parameters.assign(parameters.begin() + std::ptrdiff_t(how.shift), parameters.end());
    for (size_t i = 0; i < rule_.slot_count(); ++i) {
      const auto slot = state.slot(i);
      const auto is_zero = [](float x) { return std::bit_cast<uint32_t>(x) == 0; };
      if (!std::ranges::all_of(slot.first(margin), is_zero) ||
          !std::ranges::all_of(slot.last(margin), is_zero))
        add("pieces", "state", "is changed beyond [offset, offset + count)");
      result.slots.emplace_back(slot.begin() + margin, slot.end() - margin);
    }
    return result;
  }

  void check_finite(const outcome& plain) {
    if (!std::ranges::all_of(plain.parameters, [](float x) { return std::isfinite(x); }))
      add("written", "update", "some parameters are not written, or not finite");
  }

  void check_not_finite(const outcome& plain) {
    const auto bad = steps({.has_bad_gradient = true});
    if (std::isfinite(bad.parameters[bad_element]))
      add("not finite", "update",
          "a gradient that is no number leads to a parameter that is one: nobody would notice");
    for (size_t i = 0; i < value_count; ++i)
      if (i != bad_element && !same_bits({&bad.parameters[i], 1}, {&plain.parameters[i], 1}))
        return add("pieces", "element " + std::to_string(i),
                   "changes with the gradient of element " + std::to_string(bad_element));
  }

  // Of p^2 / 2, from p = 1: the gradient is p.
  void check_bowl() {
    const optimizer_state state{rule_.slot_count(), 1};
    float p = 1;
    for (uint64_t t = 0; t < bowl_steps; ++t) {
      const float gradient = 3 * p; // of three samples
      float next = 0;
      rule_.update(rule_.begin_step(t, 3, direction::descent), {&gradient, &p, &next, 0, 1}, state);
      p = next;
    }
    if (!(std::abs(p) < 1))
      add("descends", "p^2 / 2",
          "from 1 " + std::to_string(bowl_steps) + " steps lead to " + std::to_string(p) +
            ", not nearer to 0");
  }

  static constexpr size_t bad_element = 50;

  const optimizer& rule_;
  verify_options options_;
  std::vector<finding> found_;
};

} // namespace

std::vector<finding> verify_optimizer(const optimizer& x, const verify_options& options) {
  const default_rounding rounding;
  return verifier{x, options}.result();
}

} // namespace troupe
