// Reads a text part by part (row_reader.hpp), for a model of characters: what rows are is said in read_text.hpp. There
// is one from each character on, and characters have their numbers in the model's vocabulary.

#pragma once

#include "troupe/data/formats/text/character_source.hpp"
#include "troupe/data/formats/text/vocabulary.hpp"
#include "troupe/data/table/row_reader.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

enum class text_targets : uint8_t {
  none, ///< and so the text's last window is a row too
  next, ///< the character that follows is the target, whether or not it is of the vocabulary
};

class text_reader : public row_reader {
public:
  /// Opens the file. Throws what character_source and `vocabulary` throw.
  text_reader(const std::string& path, size_t window, const std::vector<std::string>& characters,
              text_targets targets);

  [[noreturn]] void fail_at_target(const table_chunk& rows, size_t i, const std::string& reason,
                                   const std::string& hint) const override;

  /// "3 characters are none of ..", of those read so far; empty: all are.
  std::string unknown_remark() const;

protected:
  /// Throws failure(bad_data) for a text that is too short for a row.
  bool read_rows(table_chunk& out, size_t rows_max) override;

private:
  struct character {
    char32_t code;
    size_t line;
  };

  void fill(size_t count);
  void keep(size_t row, table_chunk& out) const;
  /// Characters that a row needs.
  size_t needed() const noexcept { return window_ + (targets_ == text_targets::next ? 1 : 0); }

  character_source source_;
  vocabulary known_;
  size_t window_;
  text_targets targets_;
  std::vector<character> recent_; ///< from the next row's first one on
  bool has_rows_ = false;
  uint64_t unknown_count_ = 0;
  char32_t first_unknown_ = 0;
};

} // namespace troupe
