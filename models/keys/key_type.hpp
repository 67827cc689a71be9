// What a key of a job may be given: a type reads a value (models/keys/toml_value.hpp) into a member,
// writes the member as TOML and as identities have it, and says in words what it takes.
//
// Rows of keys (models/keys/key_table.hpp) hold a type and where the member is. `type_of<T>(range)` has the
// type of a bool, a whole number, a double, a text, an enumeration with names, lists of these, and of
// each as an optional. Types of one key alone derive from `type_for`.

#pragma once

#include "models/base/names.hpp"
#include "models/keys/toml_value.hpp"
#include "models/kinds/option.hpp"

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe {

/// Something wrong with a key: where it stands, why, what to do.
struct complaint {
  std::string key; ///< its full path; for an unknown key that of the one that was meant
  source_position at;
  std::string why;
  std::string hint;
};
using complaints = std::vector<complaint>;

/// Why a value is none for a key.
struct value_refusal {
  std::string why;
  std::string hint;
};

/// "expected EXPECTED, got the string 'abc'".
value_refusal wrong_type(const std::string& expected, const toml_value& value);

/// Adds the refusal of `value`, if there is one, to `out`. Whether there is none.
bool accepted(const std::optional<value_refusal>& refused, const toml_value& value,
              const std::string& path, complaints& out);

/// Readers of one value: the refusal, or nothing and `out` written.
std::optional<value_refusal> read_value(const toml_value& value, bool& out);
std::optional<value_refusal> read_value(const toml_value& value, double& out);
std::optional<value_refusal> read_value(const toml_value& value, std::string& out);

/// A whole number within the range.
std::optional<value_refusal> read_whole(const toml_value& value, const option_range& range,
                                        uint64_t& out);

/// A name out of `names`; gives its index.
std::optional<value_refusal> read_choice(const toml_value& value,
                                         const std::vector<std::string>& names, size_t& out);

/// `"relu" | "tanh"`.
std::string choices_text(const std::vector<std::string>& names);

/// "from 1 to 1024", or "of at least 0" where there is no upper bound.
std::string whole_range_text(const option_range& range);

/// A member comes as an address: only `type_for` knows its type.
class key_type {
public:
  key_type() = default;
  key_type(const key_type&) = delete;
  key_type& operator=(const key_type&) = delete;
  virtual ~key_type() = default;

  /// What it takes, for people: "integer from 1 to 1024".
  virtual std::string words() const = 0;
  /// Takes strings only: a bare number from `--set` is one.
  virtual bool is_text() const { return false; }
  /// Reads into the member, or complains about `path` and leaves the member as it is.
  virtual void read_at(void* member, const toml_value& value, const std::string& path,
                       complaints& out) const = 0;
  /// As TOML; nothing when it is unset.
  virtual std::optional<std::string> text_at(const void* member) const = 0;
  virtual void copy_at(void* to, const void* from) const = 0;
  /// Why a member that an application filled in is none, if so.
  virtual std::optional<value_refusal> refusal_at(const void* member) const = 0;
  /// As identities have it: numbers with a fraction by their bits, lists with blanks between.
  virtual std::string identity_at(const void* member) const = 0;
};

template <class T>
class type_for : public key_type {
public:
  virtual void read(T& out, const toml_value& value, const std::string& path,
                    complaints& found) const = 0;
  virtual std::optional<std::string> text(const T& x) const = 0;
  virtual void copy(T& to, const T& from) const { to = from; }
  virtual std::optional<value_refusal> refusal(const T&) const { return std::nullopt; }
  virtual std::string identity(const T& x) const { return text(x).value_or(""); }

  void read_at(void* member, const toml_value& value, const std::string& path,
               complaints& out) const final {
    read(*static_cast<T*>(member), value, path, out);
  }
  std::optional<std::string> text_at(const void* member) const final {
    return text(*static_cast<const T*>(member));
  }
  void copy_at(void* to, const void* from) const final {
    copy(*static_cast<T*>(to), *static_cast<const T*>(from));
  }
  std::optional<value_refusal> refusal_at(const void* member) const final {
    return refusal(*static_cast<const T*>(member));
  }
  std::string identity_at(const void* member) const final {
    return identity(*static_cast<const T*>(member));
  }
};

template <class T>
using type_ptr = std::shared_ptr<const type_for<T>>;

/// One that TOML has, whatever its value.
template <class T>
class plain_type : public type_for<T> {
public:
  void read(T& out, const toml_value& value, const std::string& path,
            complaints& found) const override {
    accepted(read_value(value, out), value, path, found);
  }
  std::optional<std::string> text(const T& x) const override { return toml_text(x); }
};

class bool_type final : public plain_type<bool> {
public:
  std::string words() const override { return "true or false"; }
  std::string identity(const bool& x) const override { return x ? "1" : "0"; }
};

class whole_type final : public type_for<uint64_t> {
public:
  explicit whole_type(const option_range& range) : range_(range) {}
  std::string words() const override;
  void read(uint64_t& out, const toml_value& value, const std::string& path,
            complaints& found) const override;
  std::optional<std::string> text(const uint64_t& x) const override { return toml_text(x); }
  std::optional<value_refusal> refusal(const uint64_t& x) const override;

private:
  option_range range_;
};
static_assert(std::same_as<size_t, uint64_t>, "members are counts of either name");

/// Reading takes any finite number, so that one message lists numbers out of range beside other
/// errors.
class number_type final : public plain_type<double> {
public:
  explicit number_type(const option_range& range) : range_(range) {}
  std::string words() const override;
  std::optional<value_refusal> refusal(const double& x) const override;
  std::string identity(const double& x) const override { return bits_text(x); }

private:
  option_range range_;
};

class text_type final : public plain_type<std::string> {
public:
  explicit text_type(std::string words = "string") : words_(std::move(words)) {}
  std::string words() const override { return words_; }
  bool is_text() const override { return true; }
  std::string identity(const std::string& x) const override { return x; }

private:
  std::string words_;
};

/// Every value of an enumeration with names.
template <class Enum>
std::vector<Enum> values_of() {
  if constexpr (requires { all_values(Enum{}); }) { // some that the application adds, too
    return all_values(Enum{});
  } else {
    std::vector<Enum> result;
    for (const auto& [value, name] : name_table<Enum>::entries)
      result.push_back(value);
    return result;
  }
}

template <class Enum>
std::vector<std::string> names_of(const std::vector<Enum>& values = values_of<Enum>()) {
  std::vector<std::string> result;
  for (const auto value : values)
    result.emplace_back(name_of(value));
  return result;
}

/// One of the values, by name. A value without a name counts as unset. With `by_bool`, true and false
/// are the values called "yes" and "no".
template <class Enum>
class choice_type final : public type_for<Enum> {
public:
  explicit choice_type(std::vector<Enum> values = values_of<Enum>(), bool by_bool = false)
    : values_(std::move(values)), names_(names_of(values_)), by_bool_(by_bool) {}

  std::string words() const override {
    return choices_text(names_) + (by_bool_ ? ", or true | false" : "");
  }
  void read(Enum& out, const toml_value& value, const std::string& path,
            complaints& found) const override {
    size_t index = 0;
    if (const auto* flag = by_bool_ ? value.as<bool>() : nullptr)
      out = *from_name<Enum>(*flag ? "yes" : "no");
    else if (accepted(read_choice(value, names_, index), value, path, found))
      out = values_[index];
  }
  std::optional<std::string> text(const Enum& x) const override {
    return from_name<Enum>(name_of(x)) ? std::optional{toml_text(name_of(x))} : std::nullopt;
  }
  std::string identity(const Enum& x) const override { return std::string{name_of(x)}; }

private:
  std::vector<Enum> values_;
  std::vector<std::string> names_;
  bool by_bool_;
};

template <class T>
class optional_type final : public type_for<std::optional<T>> {
public:
  explicit optional_type(type_ptr<T> inner) : inner_(std::move(inner)) {}
  std::string words() const override { return inner_->words(); }
  bool is_text() const override { return inner_->is_text(); }
  void read(std::optional<T>& out, const toml_value& value, const std::string& path,
            complaints& found) const override {
    T x{};
    const auto before = found.size();
    inner_->read(x, value, path, found);
    if (found.size() == before)
      out = x;
  }
  std::optional<std::string> text(const std::optional<T>& x) const override {
    return x ? inner_->text(*x) : std::nullopt;
  }
  std::optional<value_refusal> refusal(const std::optional<T>& x) const override {
    return x ? inner_->refusal(*x) : std::nullopt;
  }
  std::string identity(const std::optional<T>& x) const override {
    return x ? inner_->identity(*x) : "";
  }

private:
  type_ptr<T> inner_;
};

/// What is wrong with a value that is no list of `elements` ("integers").
value_refusal no_list(const std::string& elements, const toml_value& value);

/// A list is taken without the elements that are wrong where `keeps_rest`, and else not at all.
template <class T>
class list_type final : public type_for<std::vector<T>> {
public:
  list_type(type_ptr<T> element, std::string words, std::string elements, std::string example)
    : element_(std::move(element)),
      words_(std::move(words)),
      elements_(std::move(elements)),
      example_(std::move(example)) {}

  std::string words() const override { return words_; }
  void read(std::vector<T>& out, const toml_value& value, const std::string& path,
            complaints& found) const override {
    const auto* list = value.as<toml_value::list>();
    if (!list) {
      found.push_back({path, value.at, no_list(elements_, value).why, example_});
      return;
    }
    std::vector<T> result(list->size());
    const auto before = found.size();
    for (size_t i = 0; i < list->size(); ++i)
      element_->read(result[i], (*list)[i], path, found);
    if (found.size() == before)
      out = std::move(result);
  }
  std::optional<std::string> text(const std::vector<T>& x) const override {
    std::string result = "[";
    for (const auto& one : x)
      result += (result.size() > 1 ? ", " : "") + element_->text(one).value_or("");
    return result + ']';
  }
  std::optional<value_refusal> refusal(const std::vector<T>& x) const override {
    for (const auto& one : x)
      if (auto refused = element_->refusal(one))
        return refused;
    return std::nullopt;
  }
  std::string identity(const std::vector<T>& x) const override {
    std::string result;
    for (const auto& one : x)
      result += (result.empty() ? "" : " ") + element_->identity(one);
    return result;
  }

private:
  type_ptr<T> element_;
  std::string words_;
  std::string elements_;
  std::string example_;
};

/// The type of a member, by what it is. `range` is for numbers.
template <class T>
type_ptr<T> type_of(const option_range& range = anything()) {
  if constexpr (std::same_as<T, bool>)
    return std::make_shared<bool_type>();
  else if constexpr (std::same_as<T, uint64_t>)
    return std::make_shared<whole_type>(range);
  else if constexpr (std::same_as<T, double>)
    return std::make_shared<number_type>(range);
  else if constexpr (std::same_as<T, std::string>)
    return std::make_shared<text_type>();
  else if constexpr (std::is_enum_v<T>)
    return std::make_shared<choice_type<T>>();
  else
    return std::make_shared<optional_type<typename T::value_type>>(
      type_of<typename T::value_type>(range));
}

/// Whole numbers in a list; `example` says what to write.
type_ptr<std::vector<uint64_t>> whole_list(const option_range& range, const std::string& example);

/// Texts in a list.
type_ptr<std::vector<std::string>> string_list(const std::string& example);

} // namespace troupe
