#include "models/kinds/chain_kind.hpp"

#include "models/kinds/layer_text.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace troupe {

namespace {

constexpr const char* hint = "docs/layers.md says what layers there are";

/// What an item that only holds others is told; a kind of layers has a row in their table.
const kind_entry* holder_of(const std::string& kind) {
  static const auto entry = [](const char* name, std::vector<option_info> options) {
    kind_entry result;
    result.name = name;
    result.options = std::move(options);
    return result;
  };
  static const auto residual = entry("residual", {});
  static const auto block = entry("block", {{"repeat", int64_t{1}, within(1, 256), "times"}});
  return kind == "residual" ? &residual : kind == "block" ? &block : nullptr;
}

/// Brings an item to the form that identities have. Throws std::invalid_argument.
void settle(layer_item& x);

void settle(std::vector<layer_item>& items) {
  for (auto& item : items)
    settle(item);
}

void settle(layer_item& x) {
  const auto where = x.line > 0 ? "line " + std::to_string(x.line) + ": " : std::string{};
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument(where + x.own.kind + ": " + why);
  };
  const auto* holder = holder_of(x.own.kind);
  const auto* kind = holder ? holder : layers().find(x.own.kind);
  if (kind == nullptr)
    throw std::invalid_argument(where + layers().problems(x.own).front().why);
  if (x.has_inner != (holder != nullptr))
    refuse(holder ? "expected layers in { }" : "takes no { }");
  if (holder && x.inner.empty())
    refuse("there is no layer in { }");
  if (const auto version = x.own.options.extract("version");
      version && !(version.mapped() == option_value{int64_t{kind->info.version}}))
    refuse("this program has version " + std::to_string(kind->info.version) + " of it, not " +
           option_text(version.mapped()));
  if (const auto found = option_problems(*kind, x.own); !found.empty())
    refuse(found.front().name + ": " + found.front().why);
  x.own = completed(*kind, x.own);
  if (kind->info.version != 1)
    x.own.options["version"] = int64_t{kind->info.version};
  settle(x.inner);
}

/// Layers as they come, each for the shape that the one before gives.
class chain_builder {
public:
  explicit chain_builder(row_shape shape) : shape_(std::move(shape)) {}

  void add(const std::vector<layer_item>& items) {
    for (const auto& item : items)
      if (item.own.kind == "residual")
        add_residual(item);
      else if (holder_of(item.own.kind))
        for (int64_t i = 0; i < std::get<int64_t>(item.own.options.at("repeat")); ++i)
          add(item.inner);
      else
        add_step(item.own.kind, [&] {
          auto own = item.own;
          own.options.erase("version");
          return layers().make(own, {shape_});
        });
  }

  void add_head(size_t scores) {
    dense_options x;
    x.units = scores;
    x.flatten = true;
    x.initialization = "xavier";
    add_step("dense", [&] { return make_dense(x, {shape_}); });
  }

  const row_shape& shape() const { return shape_; }
  std::vector<chain_block> take() { return std::move(blocks_); }

private:
  [[noreturn]] void refuse(const std::string& kind, const std::string& why) const {
    throw std::invalid_argument("layers." + std::to_string(step_count_) + ", " + kind + ": " + why);
  }

  /// Whether the layers so far have parameters: what has none joins those before it.
  bool learns() const {
    return !blocks_.empty() && std::ranges::any_of(blocks_.back().steps, [](const auto& step) {
      return step.does && step.does->parameter_count() > 0;
    });
  }

  void put(chain_step step) {
    const bool learns_now = step.does && step.does->parameter_count() > 0;
    if (blocks_.empty() || (depth_ == 0 && learns_now && learns()))
      blocks_.emplace_back();
    blocks_.back().steps.push_back(std::move(step));
    ++step_count_;
  }

  template <class Make>
  void add_step(const std::string& kind, const Make& make) {
    if (step_count_ >= chain_steps_max)
      refuse(kind, "a chain has at most " + std::to_string(chain_steps_max) + " steps");
    std::unique_ptr<layer> made;
    try {
      made = make();
      if (made) {
        require_bounded(made->output());
        for (const auto& tensor : made->tensors())
          require_bounded(tensor.shape);
      }
    } catch (const std::invalid_argument& problem) {
      refuse(kind, problem.what());
    }
    if (!made || made->input() != shape_)
      throw std::logic_error("the factory of layer kind '" + kind + "' made none for rows of " +
                             text_of(shape_));
    if (!made->is_differentiable() && has_learnt_)
      refuse(kind,
             "it reads codes, which have no derivative: the layers before it would never learn");
    has_learnt_ = has_learnt_ || made->parameter_count() > 0;
    shape_ = made->output();
    put({std::move(made)});
  }

  void add_residual(const layer_item& item) {
    if (depth_ == 0 && learns())
      blocks_.emplace_back();
    const auto from = blocks_.empty() ? 0 : blocks_.back().steps.size();
    const auto before = shape_;
    ++depth_;
    add(item.inner);
    --depth_;
    if (shape_ != before)
      refuse("residual", "its layers make " + text_of(shape_) + " of " + text_of(before) +
                           ", and what is added has one shape");
    put({nullptr, from});
  }

  row_shape shape_;
  std::vector<chain_block> blocks_;
  size_t step_count_ = 0;
  bool has_learnt_ = false; ///< some step so far has parameters
  size_t depth_ = 0;        ///< residual blocks around
};

} // namespace

std::vector<option_problem> settle_chain(component& x) {
  try {
    auto items = layers_from_text(std::get<std::string>(x.options.at("layers")));
    settle(items);
    x.options["layers"] = text_of(items);
  } catch (const std::invalid_argument& problem) {
    return {{"layers", problem.what(), hint}};
  }
  return {};
}

std::unique_ptr<layer_chain> make_chain(const chain_options& x, size_t features, size_t outputs,
                                        const loss_options& loss) {
  const auto shape = x.shape.empty() ? row_shape{features} : x.shape;
  const auto extents = [&] {
    require_bounded(shape);
    return size_of(shape);
  };
  if (shape.size() > 3 || extents() != features)
    throw std::invalid_argument("a shape of " + text_of(shape) + " is none of rows of " +
                                std::to_string(features) +
                                " features: it has up to three extents, whose product they are");
  auto items = layers_from_text(x.layers);
  settle(items);
  chain_builder builder{shape};
  builder.add(items);
  if (x.head)
    builder.add_head(outputs);
  else if (size_of(builder.shape()) != outputs)
    throw std::invalid_argument("the last layer gives " + text_of(builder.shape()) +
                                " values where " + std::to_string(outputs) +
                                " scores are wanted: leave out head = false");
  try {
    return std::make_unique<layer_chain>(features, outputs, loss, builder.take(), x.parts);
  } catch (const std::length_error& problem) {
    throw std::invalid_argument(problem.what());
  }
}

} // namespace troupe
