#include "coordinators/base/canonical_tree.hpp"

#include <utility>

namespace troupe {

namespace {

std::pair<tree_node, tree_node> children(const tree_node& node) {
  const auto middle = node.begin + left_size(node.size());
  return {{node.begin, middle}, {middle, node.end}};
}

bool is_below(const tree_node& root, const tree_node& node) {
  if (root == node)
    return true;
  if (root.size() <= 1)
    return false;
  const auto [left, right] = children(root);
  return left.contains(node) ? is_below(left, node) : right.contains(node) && is_below(right, node);
}

void collect_largest(const tree_node& root, const index_range& range,
                     std::vector<tree_node>& result) {
  if (root.end <= range.begin || range.end <= root.begin)
    return;
  if (range.contains(root)) {
    result.push_back(root);
    return;
  }
  const auto [left, right] = children(root);
  collect_largest(left, range, result);
  collect_largest(right, range, result);
}

// Emits the program of one subtree at a time.
class planner {
public:
  planner(const std::vector<tree_node>& held, const std::function<bool(size_t)>& exists)
    : held_(held), exists_(exists) {}

  enum class subtree { absent, present, incomplete };

  subtree emit(const tree_node& node) {
    if (next_ < held_.size() && held_[next_] == node)
      return push(node);
    if (node.size() == 1)
      return exists_(node.begin) ? subtree::incomplete : subtree::absent;
    const auto [left, right] = children(node);
    const auto first = emit(left);
    const auto second = first == subtree::incomplete ? first : emit(right);
    if (first == subtree::incomplete || second == subtree::incomplete)
      return subtree::incomplete;
    if (first == subtree::present && second == subtree::present)
      plan.operations.push_back(reduction_plan::add);
    return first == subtree::present ? first : second;
  }

  bool used_all() const { return next_ == held_.size(); }

  reduction_plan plan;

private:
  subtree push(const tree_node&) {
    plan.operations.push_back(static_cast<int32_t>(next_++));
    return subtree::present;
  }

  const std::vector<tree_node>& held_;
  const std::function<bool(size_t)>& exists_;
  size_t next_ = 0;
};

} // namespace

bool is_tree_node(size_t slice_count, const tree_node& node) {
  return node.begin < node.end && node.end <= slice_count && is_below({0, slice_count}, node);
}

bool are_siblings(size_t slice_count, const tree_node& left, const tree_node& right) {
  return left.end == right.begin && is_tree_node(slice_count, {left.begin, right.end}) &&
         left.size() == left_size(left.size() + right.size());
}

std::vector<tree_node> largest_nodes(size_t slice_count, const index_range& range) {
  std::vector<tree_node> result;
  if (!range.empty() && slice_count > 0)
    collect_largest({0, slice_count}, range, result);
  return result;
}

std::optional<reduction_plan> plan_reduction(size_t slice_count, const std::vector<tree_node>& held,
                                             const std::function<bool(size_t)>& exists) {
  planner program{held, exists};
  if (slice_count == 0 || program.emit({0, slice_count}) != planner::subtree::present ||
      !program.used_all())
    return std::nullopt;
  return std::move(program.plan);
}

} // namespace troupe
