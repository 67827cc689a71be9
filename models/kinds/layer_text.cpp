#include "models/kinds/layer_text.hpp"

#include "models/kinds/option.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <stdexcept>

namespace troupe {

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

  /// Blanks and comments, and ends of layers if so told.
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
