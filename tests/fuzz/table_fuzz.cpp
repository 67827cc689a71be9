// What nodes tell each other of their rows, and what they agree on.

#include "actors/net/gate/visit.hpp"
#include "actors/net/table/table_agreement.hpp"
#include "data/training_rows/row_table.hpp"
#include "tests/fuzz/hostile.hpp"

#include <optional>
#include <string>

using namespace troupe;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string text{fuzz::text_of(bytes, size)};
  std::optional<row_table> table;
  fuzz::expect_result_or_failure([&] { table = table_of(text, "here"); });
  if (table) {
    const auto again = table_text(*table);
    fuzz::require(table_text(table_of(again, "here")) == again, "a table is read as it is written");
  }
  fuzz::expect_result_or_failure([&] {
    const auto card = card_of(text, "here");
    const auto form = form_of(card.form, "here");
    facts_of(card.facts, form, "here");
  });
  table_agreement agreement{{{"here", "there"}, {"here", "there"}, 10, {}}};
  const auto answer = agreement.on_card("here", text);
  fuzz::require(!answer.form.empty() || answer.problem_code != 0 || !answer.table.empty() ||
                  answer.waits_for != "",
                "a card is taken or refused");
  agreement.on_card("there", text);
  agreement.on_card("there", text);
  agreement.on_card("here", text);
  if (agreement.table())
    fuzz::require(agreement.table()->facts.size.train > 0, "what is agreed on has rows");
  if (const auto found = read_table_answer(text))
    fuzz::require(read_table_answer(visit_answer(*found)) == found, "an answer is read as written");
  return 0;
}
