// The director's side of the agreement on rows (data/training_rows/row_table.hpp): it gathers the cards of all nodes that
// have rows, first their forms, then their facts, and answers each node with what is agreed on so far. It knows no sockets,
// and no clock.
//
//   forms --all have come--> facts --all have come--> agreed        any of them --what does not fit--> failed
//
// A card that comes again in another life of its node counts anew until the form is agreed on; from then on its rows must
// be the same.

#pragma once

#include "actors/net/gate/visit.hpp"
#include "data/text/failure.hpp"
#include "data/training_rows/row_table.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct table_agreement_options {
  std::vector<std::string> holders;   ///< names of the nodes that have rows, at least one
  std::vector<std::string> computing; ///< those of them that have replicas
  size_t categories_max = 1000;
  prepare_options prepare;
};

class table_agreement {
public:
  explicit table_agreement(table_agreement_options options) : options_(std::move(options)) {}

  /// Takes a node's card, empty for one that has no rows, and answers it.
  table_answer on_card(const std::string& node, const std::string& card);

  /// There will be no table, for this reason.
  void fail(const failure& why);

  bool is_over() const { return table_.has_value() || failed_.has_value(); }
  /// Whose cards have not come.
  std::vector<std::string> missing() const;
  const std::optional<row_table>& table() const { return table_; }
  const std::optional<failure>& failed() const { return failed_; }

private:
  void take(const std::string& node, const row_card& card);
  void require_known(const std::string& node, const row_card& card) const;
  void agree_on_form();
  void agree_on_table();
  table_answer answer() const;

  table_agreement_options options_;
  std::map<std::string, holding> forms_; ///< by node; data sets without rows
  std::optional<dataset> form_;
  std::vector<held_rows> holdings_; ///< once the form is agreed on
  std::map<std::string, holding_facts> facts_;
  std::map<std::string, std::string> learned_; ///< by node: how the only holding's rows are scaled
  std::string form_text_, table_text_;
  std::optional<row_table> table_;
  std::optional<failure> failed_;
};

} // namespace troupe
