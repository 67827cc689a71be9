#include "actors/net/clients/client_frames.hpp"

#include "data/text/checksum.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <stdexcept>

namespace troupe {

namespace {

static_assert(std::endian::native == std::endian::little, "frames are little-endian");

constexpr std::string_view magic = "TRPC";
constexpr size_t summed_head_bytes = 16; ///< what stands before the checksum

template <class Number>
void append(std::string& out, Number value) {
  std::array<char, sizeof value> bytes;
  std::memcpy(bytes.data(), &value, sizeof value);
  out.append(bytes.data(), bytes.size());
}

template <class Number>
Number take(std::string_view& from) {
  Number result;
  std::memcpy(&result, from.data(), sizeof result);
  from.remove_prefix(sizeof result);
  return result;
}

uint64_t checksum_of_frame(std::string_view head, std::string_view body,
                           std::span<const float> values = {}) {
  running_checksum sum;
  sum.add(std::as_bytes(std::span{head.substr(0, summed_head_bytes)}));
  sum.add(std::as_bytes(std::span{body}));
  sum.add(std::as_bytes(values));
  return sum.take();
}

size_t text_count(const client_frame_form& form) {
  return static_cast<size_t>(std::ranges::count_if(form.text_max, [](size_t x) { return x > 0; }));
}

const client_frame_form* form_of(client_frame_kind kind) {
  const auto found = std::ranges::find(client_frame_forms, kind, &client_frame_form::kind);
  return found == client_frame_forms.end() ? nullptr : &*found;
}

/// Of a body, without its texts.
size_t fixed_bytes(const client_frame_form& form, size_t value_count) {
  return (form.numbers + text_count(form)) * sizeof(uint64_t) +
         (form.has_values ? value_count * sizeof(float) : 0);
}

bool is_form_of(const client_frame& x, const client_frame_form& form) {
  for (size_t i = 0; i < x.texts.size(); ++i)
    if (x.texts[i].size() > form.text_max[i])
      return false;
  return x.numbers.size() == form.numbers && (form.has_values || !x.values);
}

} // namespace

std::string client_frame_front(const client_frame& x) {
  const auto* form = form_of(x.kind);
  if (!form || !is_form_of(x, *form))
    throw std::invalid_argument("client frames: the frame is none of its kind");
  std::string body;
  for (const auto number : x.numbers)
    append(body, number);
  for (size_t i = 0; i < text_count(*form); ++i)
    append(body, uint64_t{x.texts[i].size()});
  for (const auto& text : x.texts)
    body += text;
  const auto values = x.values.values();
  std::string head{magic};
  append(head, static_cast<uint16_t>(x.kind));
  append(head, uint16_t{0});
  append(head, uint64_t{body.size() + values.size_bytes()});
  append(head, checksum_of_frame(head, body, values));
  append(head, uint64_t{0});
  return head + body;
}

std::optional<client_frame_head> read_client_head(std::string_view bytes, size_t value_count,
                                                  std::string& problem) {
  const auto refuse = [&](const char* why) {
    problem = why;
    return std::nullopt;
  };
  if (bytes.size() < client_head_bytes || !bytes.starts_with(magic))
    return refuse("these bytes are no frame of a client's conversation");
  bytes.remove_prefix(magic.size());
  client_frame_head result;
  result.form = form_of(static_cast<client_frame_kind>(take<uint16_t>(bytes)));
  const auto zero = take<uint16_t>(bytes);
  result.body_bytes = take<uint64_t>(bytes);
  result.checksum = take<uint64_t>(bytes);
  if (!result.form || zero != 0 || take<uint64_t>(bytes) != 0)
    return refuse("a frame of an unknown kind");
  const auto fixed = fixed_bytes(*result.form, value_count);
  const auto [first, second] = result.form->text_max;
  if (result.body_bytes < fixed || result.body_bytes - fixed > first + second)
    return refuse("a frame of a wrong length");
  return result;
}

std::optional<client_frame> read_client_frame(const client_frame_head& head,
                                              std::string_view head_bytes, std::string_view body,
                                              size_t value_count, std::string& problem) {
  if (body.size() == head.body_bytes && checksum_of_frame(head_bytes, body) == head.checksum)
    return read_client_body(head, body, value_count, problem);
  problem = "a frame was damaged on its way";
  return std::nullopt;
}

std::optional<client_frame> read_client_body(const client_frame_head& head, std::string_view body,
                                             size_t value_count, std::string& problem) {
  const auto refuse = [&](const char* why) {
    problem = why;
    return std::nullopt;
  };
  const auto& form = *head.form;
  client_frame result;
  result.kind = form.kind;
  auto rest = body;
  for (size_t i = 0; i < form.numbers; ++i)
    result.numbers.push_back(take<uint64_t>(rest));
  std::array<uint64_t, 2> sizes{};
  for (size_t i = 0; i < text_count(form); ++i)
    sizes[i] = take<uint64_t>(rest);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > form.text_max[i] || sizes[i] > rest.size())
      return refuse("a text of a frame is too long");
    result.texts[i] = rest.substr(0, sizes[i]);
    rest.remove_prefix(sizes[i]);
  }
  if (rest.size() != (form.has_values ? value_count * sizeof(float) : 0))
    return refuse("a frame of a wrong length");
  if (form.has_values) {
    const buffer values{value_count};
    std::memcpy(values.values().data(), rest.data(), rest.size());
    result.values = values;
  }
  return result;
}

} // namespace troupe
