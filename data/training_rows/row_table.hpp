// The table that holders of rows agree on (holdings.hpp), and the texts in which they tell each other of it: what a card
// holds, and all that a process has to know to read its own rows as the others read theirs.
//
//   holders                       who gathers cards
//      | card: form                    |     names of columns, categories, classes
//      |------------------------------>|
//      |<------------------------------| the agreed form
//      | card: facts                   |     counts, means, squares
//      |------------------------------>|
//      |<------------------------------| the table
//
// Texts are JSON objects; what came over a wire or from a file is checked here.

#pragma once

#include "data/training_rows/holdings.hpp"

#include <string>
#include <vector>

namespace troupe {

/// Without rows: names and shape of a data set.
std::string form_text(const dataset& form);

/// Throws failure(bad_data), naming `where`, for a text that is none.
dataset form_of(const std::string& text, const std::string& where);

std::string facts_text(const holding_facts& facts);

/// Throws failure(bad_data), naming `where`, for a text that is none, or of facts that rows of this form do not have.
holding_facts facts_of(const std::string& text, const dataset& form, const std::string& where);

/// How rows are read and scaled: what of a table a process has to know to read others.
struct row_reading {
  dataset form; ///< without rows
  learned_scales learned;
};

/// A table without what it tells of holdings; `table_text` will do as well.
std::string reading_text(const row_reading& x);

/// Throws failure(bad_data), naming `where`, for a text that is none.
row_reading reading_of(const std::string& text, const std::string& where);

struct row_table {
  dataset form;
  learned_scales learned;
  holding_facts facts;             ///< of all holdings together
  std::vector<held_rows> holdings; ///< sorted by fingerprint; with holders

  /// The holding that this process has; nothing: it has none.
  std::optional<size_t> holding_of(const std::string& holder) const;
};

/// What a holder tells: at first the form, then the facts; where it is the only one, also how its rows are scaled.
struct row_card {
  std::string fingerprint; ///< of its rows as they were read at first
  std::string form{};      ///< form_text
  std::string facts{};     ///< facts_text
  std::string learned{};   ///< scales_text
  int problem_code = 0;    ///< an exit code: it cannot take part, for this reason
  std::string problem{};
};

std::string card_text(const row_card& card);

/// Throws failure(bad_data), naming `where`, for a text that is none.
row_card card_of(const std::string& text, const std::string& where);

std::string scales_text(const learned_scales& x);
learned_scales scales_of(const std::string& text, const dataset& form, const std::string& where);

std::string table_text(const row_table& table);

/// Throws failure(bad_data), naming `where`, for a text that is none.
row_table table_of(const std::string& text, const std::string& where);

} // namespace troupe
