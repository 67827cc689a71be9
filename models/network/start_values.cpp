#include "models/network/start_values.hpp"

#include "models/base/copy_values.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>

namespace troupe {

namespace {

std::string text_of(const tensor_info& x, const std::vector<size_t>& shape) {
  std::string result = "'" + x.name + "' (";
  for (size_t i = 0; i < shape.size(); ++i)
    result += (i > 0 ? " x " : "") + std::to_string(shape[i]);
  return result + ")";
}

std::string quoted(const std::string& name) {
  return '"' + name + '"';
}

bool is_bias(const std::string& name) {
  return name.ends_with("bias");
}

bool is_any(const std::string& name, const std::vector<std::string>& patterns) {
  return std::ranges::any_of(patterns, [&](const auto& one) { return is_like(name, one); });
}

/// Finds the pairs; what is left over, or does not fit, is a problem.
class matcher {
public:
  matcher(const model& network, const parameter_layout& file, const start_options& options,
          bool is_torch)
    : network_(network),
      own_(network.layout().tensors()),
      other_(file.tensors()),
      options_(options),
      is_torch_(is_torch),
      pair_of_(own_.size()),
      is_used_(other_.size()) {}

  tensor_match find() {
    leave_out(options_.start_fresh, own_, is_fresh_, "start_fresh", "tensor of the model");
    leave_out(options_.start_ignore, other_, is_ignored_, "start_ignore", "given tensor");
    for (const auto& [own, other] : options_.start_names)
      take_named(own, other);
    for (size_t i = 0; i < own_.size(); ++i)
      if (is_fresh_[i]) // what it would have begun from is not used
        if (const auto same = number_of(other_, own_[i].name); same && !is_used_[*same])
          is_ignored_[*same] = true;
    for (size_t i = 0; i < own_.size(); ++i)
      if (is_open(i))
        if (const auto same = number_of(other_, own_[i].name); same && !is_taken(*same))
          take(i, *same);
    take_only_ones();
    if (result_.problem.empty() && has_left_over())
      refuse_rest();
    for (size_t i = 0; i < own_.size(); ++i)
      if (pair_of_[i])
        result_.pairs.push_back({i, *pair_of_[i]});
    if (!result_.problem.empty())
      result_.pairs.clear();
    return std::move(result_);
  }

private:
  static std::optional<size_t> number_of(const std::vector<tensor_info>& tensors,
                                         const std::string& name) {
    const auto found = std::ranges::find(tensors, name, &tensor_info::name);
    return found == tensors.end() ? std::nullopt
                                  : std::optional{static_cast<size_t>(found - tensors.begin())};
  }

  bool is_open(size_t own) const { return !is_fresh_[own] && !pair_of_[own]; }
  bool is_taken(size_t other) const { return is_ignored_[other] || is_used_[other]; }
  std::vector<size_t> shape_of(size_t own) const {
    return is_torch_ ? torch_shape(network_, own) : own_[own].shape;
  }

  void refuse(const std::string& problem, const std::string& hint) {
    if (result_.problem.empty())
      result_ = {{}, problem, hint};
  }

  void leave_out(const std::vector<std::string>& patterns, const std::vector<tensor_info>& tensors,
                 std::vector<bool>& out, const std::string& key, const std::string& whose) {
    for (const auto& tensor : tensors)
      out.push_back(is_any(tensor.name, patterns));
    for (const auto& one : patterns)
      if (std::ranges::none_of(tensors, [&](const auto& x) { return is_like(x.name, one); }))
        refuse("model." + key + ": no " + whose + " is called " + quoted(one),
               "there are " + names_of(tensors));
  }

  static std::string names_of(const std::vector<tensor_info>& tensors) {
    std::string result;
    for (const auto& one : tensors)
      result += (result.empty() ? "" : ", ") + one.name;
    return result;
  }

  void take_named(const std::string& own, const std::string& other) {
    const auto i = number_of(own_, own);
    const auto j = number_of(other_, other);
    if (!i || !j)
      refuse("model.start_names: no " + std::string{i ? "given tensor" : "tensor of the model"} +
               " is called " + quoted(i ? other : own),
             "there are " + names_of(i ? other_ : own_));
    else if (!is_open(*i) || is_taken(*j))
      refuse("model.start_names: " + quoted(is_open(*i) ? other : own) +
               " has its place already, or is left out",
             "name each tensor once");
    else
      take(*i, *j);
  }

  void take(size_t own, size_t other) {
    if (shape_of(own) != other_[other].shape)
      return refuse("the given tensor " + text_of(other_[other], other_[other].shape) +
                      " has another shape than the model's " + text_of(own_[own], shape_of(own)),
                    "begin it by the seed, start_fresh = [" + quoted(own_[own].name) +
                      "], or give the model the layers that these tensors are of");
    pair_of_[own] = other;
    is_used_[other] = true;
  }

  void take_only_ones() {
    using key = std::pair<bool, std::vector<size_t>>;
    std::map<key, std::pair<std::vector<size_t>, std::vector<size_t>>> alike;
    for (size_t i = 0; i < own_.size(); ++i)
      if (is_open(i))
        alike[{is_bias(own_[i].name), shape_of(i)}].first.push_back(i);
    for (size_t j = 0; j < other_.size(); ++j)
      if (!is_taken(j))
        alike[{is_bias(other_[j].name), other_[j].shape}].second.push_back(j);
    for (const auto& [what, numbers] : alike)
      if (numbers.first.size() == 1 && numbers.second.size() == 1)
        take(numbers.first.front(), numbers.second.front());
  }

  bool has_left_over() const {
    for (size_t i = 0; i < own_.size(); ++i)
      if (is_open(i))
        return true;
    for (size_t j = 0; j < other_.size(); ++j)
      if (!is_taken(j))
        return true;
    return false;
  }

  // Both lists, and a table to paste: those of one shape in their order, which is a guess.
  void refuse_rest() {
    std::string mine, theirs, names, fresh, ignore;
    const auto add = [](std::string& to, const std::string& one) {
      to += (to.empty() ? "" : ", ") + one;
    };
    for (const auto& [own, other] : options_.start_names)
      add(names, quoted(own) + " = " + quoted(other));
    auto is_used = is_used_;
    for (size_t i = 0; i < own_.size(); ++i) {
      if (!is_open(i))
        continue;
      const auto shape = shape_of(i);
      add(mine, text_of(own_[i], shape));
      size_t j = 0;
      while (j < other_.size() && (is_ignored_[j] || is_used[j] || other_[j].shape != shape ||
                                   is_bias(other_[j].name) != is_bias(own_[i].name)))
        ++j;
      if (j == other_.size()) {
        add(fresh, quoted(own_[i].name));
        continue;
      }
      is_used[j] = true;
      add(names, quoted(own_[i].name) + " = " + quoted(other_[j].name));
    }
    for (size_t j = 0; j < other_.size(); ++j) {
      if (is_taken(j))
        continue;
      add(theirs, text_of(other_[j], other_[j].shape));
      if (!is_used[j])
        add(ignore, quoted(other_[j].name));
    }
    for (const auto& one : options_.start_fresh)
      add(fresh, quoted(one));
    for (const auto& one : options_.start_ignore)
      add(ignore, quoted(one));
    std::string table;
    const auto line = [&](const std::string& key, const std::string& text) {
      table += (table.empty() ? "" : "\n") + key + " = " + text;
    };
    if (!names.empty())
      line("start_names", "{ " + names + " }");
    if (!fresh.empty())
      line("start_fresh", "[" + fresh + "]");
    if (!ignore.empty())
      line("start_ignore", "[" + ignore + "]");
    refuse("neither names nor shapes say which tensors are each other's: the model has " +
             (mine.empty() ? "none left" : mine) + ", given are " +
             (theirs.empty() ? "none left" : theirs),
           "say it in [model]; by their order alone it would be\n" + table);
  }

  const model& network_;
  const std::vector<tensor_info>& own_;
  const std::vector<tensor_info>& other_;
  const start_options& options_;
  bool is_torch_;
  std::vector<bool> is_fresh_;
  std::vector<bool> is_ignored_;
  std::vector<std::optional<size_t>> pair_of_; ///< of each of the model's
  std::vector<bool> is_used_;                  ///< each of the file's
  tensor_match result_;
};

} // namespace

tensor_match match_tensors(const model& network, const parameter_layout& file,
                           const start_options& options, bool is_torch) {
  return matcher{network, file, options, is_torch}.find();
}

std::vector<size_t> torch_shape(const model& network, size_t tensor) {
  const auto& shape = network.layout().tensors().at(tensor).shape;
  const auto order = network.torch_order(tensor);
  if (order.extents.size() !=
      shape.size()) // the same extents: values within a row are in another order
    return shape;
  std::vector<size_t> result;
  for (const auto axis : order.order)
    result.push_back(order.extents[axis]);
  return result;
}

void from_torch(const model& network, size_t tensor, std::span<const float> theirs,
                std::span<float> own) {
  const auto order = network.torch_order(tensor);
  if (order.empty()) {
    copy_values(theirs, own.begin());
    return;
  }
  const auto places = elements_of(order);
  for (size_t i = 0; i < own.size(); ++i)
    own[i] = theirs[places[i]];
}

void to_torch(const model& network, size_t tensor, std::span<const float> own,
              std::span<float> theirs) {
  const auto order = network.torch_order(tensor);
  if (order.empty()) {
    copy_values(own, theirs.begin());
    return;
  }
  const auto places = elements_of(order);
  for (size_t i = 0; i < own.size(); ++i)
    theirs[places[i]] = own[i];
}

std::vector<float> started_values(const model& network, const tensor_match& match,
                                  const parameter_layout& file, std::span<const float> values,
                                  bool is_torch, uint64_t seed) {
  const auto& layout = network.layout();
  std::vector<float> working(layout.size()), result(layout.size());
  network.initialize(seed, working);
  layout.to_logical(working, result);
  for (const auto& [own, other] : match.pairs) {
    const auto& here = layout.tensors()[own];
    const auto& there = file.tensors()[other];
    const auto from = values.subspan(there.offset, there.size);
    const auto to = std::span{result}.subspan(here.offset, here.size);
    if (is_torch)
      from_torch(network, own, from, to);
    else
      copy_values(from, to.begin());
  }
  return result;
}

} // namespace troupe
