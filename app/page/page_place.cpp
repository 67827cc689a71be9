#include "app/page/page_place.hpp"

#include <CLI/CLI.hpp>

#include <array>
#include <functional>

namespace troupe {

namespace {

struct page_option {
  const char* name;
  const char* type;
  const char* text;
  std::string& (*of)(page_place&);
};

constexpr const char* address_text =
  "PORT or HOST:PORT; where others can reach it with token and TLS only";

constexpr std::array security_options{
  page_option{"--dashboard-token-file", "FILE",
              "Who reads the page has to know what it holds; made when missing",
              [](page_place& x) -> std::string& { return x.token_file; }},
  page_option{"--dashboard-certificate", "FILE", "Secures the page with TLS",
              [](page_place& x) -> std::string& { return x.certificate.certificate; }},
  page_option{"--dashboard-key", "FILE", "Belongs to the page's certificate",
              [](page_place& x) -> std::string& { return x.certificate.key; }}};

constexpr page_option page_address{"--dashboard-at", "ADDRESS", address_text,
                                   [](page_place& x) -> std::string& { return x.address; }};

using place_getter = std::function<page_place&()>;

CLI::Option* add(CLI::App& command, const page_option& option, const place_getter& place) {
  return command
    .add_option_function<std::string>(
      option.name, [place, of = option.of](const std::string& value) { of(place()) = value; },
      option.text)
    ->type_name(option.type);
}

void add_security(CLI::App& command, const place_getter& place) {
  for (const auto& option : security_options)
    add(command, option, place);
  auto* certificate = command.get_option("--dashboard-certificate");
  auto* key = command.get_option("--dashboard-key");
  certificate->needs(key);
  key->needs(certificate);
}

} // namespace

void add_page_options(CLI::App& command, std::optional<page_place>& x) {
  const place_getter place = [&x]() -> page_place& { return x ? *x : x.emplace(); };
  command.add_flag_callback(
    "--dashboard", [place] { place(); }, "Serves a page of the run on this machine");
  add(command, page_address, place);
  add_security(command, place);
}

void add_page_options(CLI::App& command, page_place& x) {
  command.add_option("--address", x.address, address_text)->type_name("ADDRESS");
  add_security(command, [&x]() -> page_place& { return x; });
}

std::vector<std::string> page_words(const page_place& x) {
  std::vector<std::string> result{"--dashboard"};
  auto place = x;
  const auto say = [&](const page_option& option) {
    if (const auto& value = option.of(place); !value.empty())
      result.push_back(std::string{option.name} + '=' + value);
  };
  say(page_address);
  for (const auto& option : security_options)
    say(option);
  return result;
}

} // namespace troupe
