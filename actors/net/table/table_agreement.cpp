#include "actors/net/table/table_agreement.hpp"

#include "data/text/shown_text.hpp"
#include "models/base/listed.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace troupe {

table_answer table_agreement::on_card(const std::string& node, const std::string& card) {
  try {
    const bool holds = std::ranges::find(options_.holders, node) != options_.holders.end();
    if (holds != !card.empty())
      throw failure(
        failure_code::mismatch,
        holds
          ? "it tells nothing of its rows, and the director's cluster file says that it has some"
          : "it tells of rows, and the director's cluster file says that it has none",
        node, "give all nodes the same cluster file, but for what `data` says");
    if (holds && !is_over())
      take(node, card_of(card, node));
    else if (holds && table_)
      require_known(node, card_of(card, node));
  } catch (const failure& error) {
    table_answer result;
    result.problem_code = static_cast<int>(error.code());
    result.problem = error.reason();
    result.problem_place = error.where();
    result.problem_hint = error.hint();
    return result;
  }
  return answer();
}

void table_agreement::require_known(const std::string& node, const row_card& card) const {
  const auto place = table_->holding_of(node);
  if (!place || table_->holdings[*place].fingerprint != card.fingerprint)
    throw failure(failure_code::bad_data, "its rows are not those that were agreed on", node,
                  "was the file changed? the table is agreed on once, when a run begins");
}

void table_agreement::take(const std::string& node, const row_card& card) {
  if (!card.problem.empty()) {
    const auto code = static_cast<failure_code>(card.problem_code);
    const bool is_known = code == failure_code::bad_job || code == failure_code::mismatch;
    return fail({is_known ? code : failure_code::bad_data, printable_text(card.problem), node});
  }
  if (!form_) {
    if (card.form.empty())
      return;
    forms_[node] = {node, form_of(card.form, node), card.fingerprint};
    if (missing().empty())
      agree_on_form();
    return;
  }
  if (forms_.at(node).fingerprint != card.fingerprint)
    throw failure(failure_code::bad_data, "its rows are not those that it told of at first", node,
                  "was the file changed? start the run again");
  if (card.facts.empty())
    return;
  facts_[node] = facts_of(card.facts, *form_, node);
  if (holdings_.size() == 1)
    learned_[node] = scales_text(scales_of(card.learned, *form_, node));
  if (missing().empty())
    agree_on_table();
}

void table_agreement::agree_on_form() {
  std::vector<holding> holdings;
  for (const auto& [node, form] : forms_)
    holdings.push_back(form);
  sort_holdings(holdings);
  try {
    form_ = agreed_table(holdings, options_.categories_max);
  } catch (const failure& error) {
    failed_ = error;
    return;
  }
  for (const auto& one : holdings) {
    held_rows held{one.name, one.fingerprint, {}};
    for (const auto& [node, form] : forms_)
      if (form.fingerprint == one.fingerprint)
        held.holders.push_back(node);
    const auto computes = [&](const std::string& holder) {
      return std::ranges::find(options_.computing, holder) != options_.computing.end();
    };
    if (std::ranges::none_of(held.holders, computes))
      return fail({failure_code::bad_job, "it has rows that nobody else has, and no replica",
                   held.holders.front(), "give the node replicas, or leave its data out"});
    holdings_.push_back(std::move(held));
  }
  form_text_ = form_text(*form_);
}

void table_agreement::agree_on_table() {
  row_table result;
  result.form = *form_;
  try {
    for (auto& one : holdings_) {
      const auto& facts = facts_.at(one.holders.front());
      for (const auto& holder : one.holders)
        if (facts_.at(holder) != facts || learned_[holder] != learned_[one.holders.front()])
          throw failure(failure_code::bad_data,
                        "its rows are those of " + one.holders.front() +
                          ", and its figures are not",
                        holder, "run the same version of troupe everywhere");
      one.size = facts.size;
      if (!result.holdings.empty() && facts.is_weighted != result.facts.is_weighted)
        throw failure(failure_code::bad_data,
                      (facts.is_weighted ? "its rows have weights, and those of "
                                         : "its rows have no weights, and those of ") +
                        result.holdings.front().name +
                        (facts.is_weighted ? " have none" : " have some"),
                      one.name, "give all rows weights, or none");
      result.facts = result.facts + facts;
      result.holdings.push_back(one);
    }
    constexpr size_t rows_max = std::numeric_limits<uint32_t>::max();
    if (result.facts.size.train > rows_max || result.facts.size.test > rows_max ||
        result.facts.size.validation > rows_max)
      throw failure(failure_code::bad_data, "all nodes together have more than 4294967295 rows", {},
                    "split the data over several jobs");
    result.learned = holdings_.size() == 1
                       ? scales_of(learned_.begin()->second, result.form, holdings_.front().name)
                       : learn_scales(result.form, result.facts, options_.prepare);
  } catch (const failure& error) {
    failed_ = error;
    return;
  }
  table_text_ = table_text(result);
  table_ = std::move(result);
}

void table_agreement::fail(const failure& why) {
  if (!is_over())
    failed_ = why;
}

std::vector<std::string> table_agreement::missing() const {
  std::vector<std::string> result;
  for (const auto& node : options_.holders)
    if (form_ ? !facts_.contains(node) : !forms_.contains(node))
      result.push_back(node);
  return result;
}

table_answer table_agreement::answer() const {
  table_answer result;
  if (failed_) {
    result.problem_code = static_cast<int>(failed_->code());
    result.problem = failed_->reason();
    result.problem_place = failed_->where();
    result.problem_hint = failed_->hint();
    return result;
  }
  result.is_alone = holdings_.size() == 1;
  result.table = table_text_;
  if (!table_)
    result.form = form_text_;
  result.waits_for = listed(missing());
  return result;
}

} // namespace troupe
