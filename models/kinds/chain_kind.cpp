#include "models/kinds/chain_kind.hpp"

#include "models/network/activation.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

namespace troupe {

namespace {

/// Extents of a layer: their products stay far from what a number can hold.
constexpr double extent_max = 1 << 24;
/// Of factors and the like: as a float it is neither 0 nor infinite.
constexpr double factor_max = 1e30;
constexpr double factor_min = 1e-30;

template <class Enum>
option_range any_of() {
  std::vector<std::string> names;
  for (const auto& [value, name] : name_table<Enum>::entries)
    names.emplace_back(name);
  return one_of(std::move(names));
}

void add_value_layers(layer_table& out) {
  out.add<dense_options>(
    "dense", {1, "f(x W^T + b): by position of rows {positions, width}, else of the whole row"},
    {option("units", &dense_options::units, within(1, extent_max), "values out"),
     option("activation", &dense_options::activation, any_of<activation_kind>(), "f"),
     option("bias", &dense_options::bias, anything(), "adds b"),
     option("flatten", &dense_options::flatten, anything(), "takes the whole row in any case"),
     option("initialization", &dense_options::initialization, any_of<initialization_kind>(),
            "of the weight")},
    &make_dense);
  out.add<activation_options>(
    "activation", {1, "a function of each value"},
    {option("function", &activation_options::function, any_of<activation_kind>(), "which")},
    &make_activation);
  out.add<scale_options>(
    "scale", {1, "factor x + offset, of each value"},
    {option("factor", &scale_options::factor, within(-factor_max, factor_max),
            "1 / 255 for pixels"),
     option("offset", &scale_options::offset, within(-factor_max, factor_max), "what 0 becomes")},
    &make_scale);
  out.add<dropout_options>(
    "dropout", {1, "values dropped in training"},
    {option("rate", &dropout_options::rate, from_to_below(0, 1), "share that is dropped")},
    &make_dropout);
}

void add_image_layers(layer_table& out) {
  out.add<convolution_options>(
    "convolution", {1, "of rows {height, width, channels}"},
    {option("channels", &convolution_options::channels, within(1, extent_max), "channels out"),
     option("kernel", &convolution_options::kernel, within(1, 4096), "height and width"),
     option("stride", &convolution_options::stride, within(1, 4096), "places from one to the next"),
     option("padding", &convolution_options::padding, one_of({"valid", "same"}),
            "same: zeros around, as many places out as in at stride 1"),
     option("activation", &convolution_options::activation, any_of<activation_kind>(),
            "a function of each value"),
     option("bias", &convolution_options::bias, anything(), "adds one to each channel"),
     option("initialization", &convolution_options::initialization, any_of<initialization_kind>(),
            "of the weight")},
    &make_convolution);
  out.add<pool_options>(
    "pool", {1, "a value for each window, channel by channel"},
    {option("over", &pool_options::over, one_of({"max", "mean", "last"}), "what is taken"),
     option("size", &pool_options::size, within(0, extent_max), "of a window; 0: all positions"),
     option("stride", &pool_options::stride, within(0, extent_max),
            "places from one to the next; 0: the size")},
    &make_pool);
}

void add_sequence_layers(layer_table& out) {
  out.add<embedding_options>(
    "embedding", {1, "codes 0, 1, .. to vectors of a table; other codes to its last row"},
    {option("categories", &embedding_options::categories, within(1, extent_max), "codes"),
     option("width", &embedding_options::width, within(1, extent_max), "of a vector"),
     option("scale", &embedding_options::scale, within(factor_min, factor_max),
            "deviation of the initial values")},
    &make_embedding);
  out.add<positions_options>(
    "positions", {1, "adds a learned vector to each position"},
    {option("scale", &positions_options::scale, within(factor_min, factor_max),
            "deviation of the initial values")},
    &make_positions);
  out.add<layer_norm_options>(
    "layer-norm", {1, "mean 0 and deviation 1 over the last extent, then weight and bias"},
    {option("epsilon", &layer_norm_options::epsilon, within(factor_min, factor_max),
            "added to the variance")},
    &make_layer_norm);
  out.add<attention_options>(
    "attention", {1, "each position sees others, by heads"},
    {option("heads", &attention_options::heads, within(1, 4096), "H, which divides the width"),
     option("causal", &attention_options::causal, anything(), "sees itself and those before"),
     option("initialization", &attention_options::initialization, any_of<initialization_kind>(),
            "of the weights")},
    &make_attention);
}

} // namespace

layer_table& layers() {
  // What holds other layers is no kind: see holder_of.
  static layer_table table{"layer", {"residual", "block"}, [](layer_table& x) {
                             add_value_layers(x);
                             add_image_layers(x);
                             add_sequence_layers(x);
                           }};
  return table;
}

namespace {

constexpr const char* hint = "docs/layers.md says what layers there are";

/// The options of an item that only holds others; a kind of layers has a row in their table.
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

namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.' || c == '+';
}

/// "\n" and ";" alike end a layer.
bool is_end(char c) {
  return c == '\n' || c == ';';
}

class text_reader {
public:
  explicit text_reader(std::string_view text) : rest_(text) {}

  std::vector<layer_item> read(size_t depth) {
    std::vector<layer_item> result;
    for (;;) {
      skip(true);
      if (rest_.empty() || rest_.front() == '}') {
        if (rest_.empty() != (depth == 0))
          fail(depth == 0 ? "a } without its {" : "a { without its }");
        return result;
      }
      result.push_back(read_item(depth));
    }
  }

private:
  [[noreturn]] void fail(const std::string& why) const {
    throw std::invalid_argument("line " + std::to_string(line_) + ": " + why);
  }

  void drop() {
    line_ += rest_.front() == '\n' ? 1 : 0;
    rest_.remove_prefix(1);
  }

  /// Skips blanks and comments, and with `ends` the ends of layers.
  void skip(bool ends) {
    while (!rest_.empty()) {
      if (rest_.front() == '#')
        while (!rest_.empty() && rest_.front() != '\n')
          drop();
      else if (rest_.front() == ' ' || rest_.front() == '\t' || rest_.front() == '\r' ||
               (ends && is_end(rest_.front())))
        drop();
      else
        return;
    }
  }

  std::string shown() const {
    return rest_.empty()           ? "the end"
           : rest_.front() == '\n' ? "the end of the line"
                                   : "'" + std::string{rest_.front()} + "'";
  }

  std::string word(const char* what) {
    const auto end = std::ranges::find_if_not(rest_, is_word);
    const std::string result{rest_.begin(), end};
    if (result.empty())
      fail(std::string{"expected "} + what + ", got " + shown());
    rest_.remove_prefix(result.size());
    return result;
  }

  layer_item read_item(size_t depth) {
    layer_item result;
    result.line = line_;
    result.own.kind = word("the kind of a layer");
    for (skip(false); !rest_.empty() && is_word(rest_.front()); skip(false)) {
      const auto name = word("an option");
      skip(false);
      if (rest_.empty() || rest_.front() != '=')
        fail("expected = and a value behind '" + name + "', got " + shown() +
             "; layers are separated by ; or stand in lines of their own");
      drop();
      skip(false);
      if (!result.own.options.emplace(name, read_value()).second)
        fail("'" + name + "' is there twice");
    }
    if (!rest_.empty() && rest_.front() == '{') {
      if (depth == layer_depth_max)
        fail("braces are at most " + std::to_string(layer_depth_max) + " deep");
      drop();
      result.has_inner = true;
      result.inner = read(depth + 1);
      drop();
      skip(false);
    }
    if (!rest_.empty() && !is_end(rest_.front()) && rest_.front() != '}')
      fail("expected an option, ; or the end of the line, got " + shown());
    return result;
  }

  option_value read_value() {
    if (!rest_.empty() && rest_.front() == '[')
      return read_list();
    if (!rest_.empty() && rest_.front() == '"')
      return read_quoted();
    const auto text = word("a value");
    if (text == "true" || text == "false")
      return text == "true";
    if (const auto value = number(text))
      return *value;
    return text;
  }

  std::string read_quoted() {
    std::string result;
    for (rest_.remove_prefix(1); !rest_.empty() && rest_.front() != '"'; drop())
      if (static_cast<unsigned char>(rest_.front()) < ' ' || rest_.front() == '\\')
        fail("expected a \" in the same line, and before it no tab and no \\");
      else
        result += rest_.front();
    if (rest_.empty())
      fail("a \" without its other one");
    drop();
    return result;
  }

  option_value read_list() {
    std::vector<int64_t> whole;
    std::vector<double> real;
    for (drop(), skip(false); rest_.empty() || rest_.front() != ']'; skip(false)) {
      const auto text = word("a number");
      const auto value = number(text);
      if (!value)
        fail("expected a number, got '" + text + "'");
      if (const auto* one = std::get_if<int64_t>(&*value)) {
        whole.push_back(*one);
        real.push_back(static_cast<double>(*one));
      } else {
        real.push_back(std::get<double>(*value));
      }
      if (skip(false); !rest_.empty() && rest_.front() == ',')
        drop();
      else if (rest_.empty() || rest_.front() != ']')
        fail("expected , or ], got " + shown());
    }
    drop();
    if (whole.size() == real.size())
      return whole;
    return real;
  }

  static std::optional<option_value> number(std::string_view text) {
    const auto* const end = text.data() + text.size();
    int64_t whole = 0;
    if (const auto [at, problem] = std::from_chars(text.data(), end, whole);
        problem == std::errc{} && at == end)
      return whole;
    double real = 0;
    const auto [at, problem] = std::from_chars(text.data(), end, real);
    if (problem == std::errc{} && at == end && std::isfinite(real))
      return real;
    return std::nullopt;
  }

  std::string_view rest_;
  size_t line_ = 1;
};

} // namespace

std::vector<layer_item> layers_from_text(std::string_view text) {
  return text_reader{text}.read(0);
}

std::string text_of(const std::vector<layer_item>& items) {
  std::string result;
  for (const auto& item : items) {
    result += (result.empty() ? "" : "; ") + item.own.kind;
    for (const auto& [name, value] : item.own.options)
      result += ' ' + name + '=' + option_text(value);
    if (item.has_inner)
      result += " { " + text_of(item.inner) + " }";
  }
  return result;
}

} // namespace troupe
