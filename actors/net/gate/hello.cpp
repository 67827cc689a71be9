#include "actors/net/gate/hello.hpp"

#include "actors/net/socket/tls_session.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"

#include <nlohmann/json.hpp>
#include <zlib.h>

#include <algorithm>
#include <array>

namespace troupe {

namespace {

using json = nlohmann::json;

struct text_field {
  const char* key;
  std::string process_facts::*value;
};
constexpr std::array text_fields{
  text_field{"version", &process_facts::version},
  text_field{"node", &process_facts::node},
  text_field{"data", &process_facts::data},
  text_field{"job", &process_facts::job},
  text_field{"cluster", &process_facts::cluster},
  text_field{"arithmetic", &process_facts::arithmetic},
  text_field{"directive", &process_facts::directive},
  text_field{"process", &process_facts::process},
  text_field{"address", &process_facts::address},
};

/// Only in runs with kinds that an application adds.
constexpr const char* kinds_key = "kinds";

struct number_field {
  const char* key;
  uint64_t process_facts::*value;
};
constexpr std::array number_fields{
  number_field{"troupe", &process_facts::protocol},
  number_field{"incarnation", &process_facts::incarnation},
  number_field{"term", &process_facts::term},
  number_field{"life", &process_facts::life},
  number_field{"carrier", &process_facts::carrier},
};

struct truth_field {
  const char* key;
  bool process_facts::*value;
};
constexpr std::array truth_fields{
  truth_field{"director", &process_facts::is_director},
};

constexpr std::array verdict_names{std::pair{verdict_kind::admitted, "admitted"},
                                   std::pair{verdict_kind::later, "later"},
                                   std::pair{verdict_kind::refused, "refused"}};

/// A run that failed is refused with its failure's code.
bool is_refusal_code(const json& x) {
  const auto is = [&x](auto code) { return x == static_cast<int>(code); };
  return is(refusal_code::finished) || is(refusal_code::agree_first) ||
         std::ranges::any_of(name_table<failure_code>::entries,
                             [&is](const auto& entry) { return is(entry.first); });
}

/// True if every field is there. Another protocol may have other fields: then reads the known ones.
bool read_facts(const json& object, process_facts& facts) {
  bool is_whole = true;
  for (const auto& field : text_fields) {
    const auto found = object.find(field.key);
    if (found != object.end() && found->is_string())
      facts.*field.value = found->get<std::string>();
    else
      is_whole = false;
  }
  for (const auto& field : number_fields) {
    const auto found = object.find(field.key);
    if (found != object.end() && found->is_number_unsigned())
      facts.*field.value = found->get<uint64_t>();
    else
      is_whole = false;
  }
  for (const auto& field : truth_fields) {
    const auto found = object.find(field.key);
    if (found != object.end() && found->is_boolean())
      facts.*field.value = found->get<bool>();
    else
      is_whole = false;
  }
  if (const auto kinds = object.find(kinds_key); kinds != object.end() && kinds->is_string())
    facts.kinds = kinds->get<std::string>();
  return is_whole || (object["troupe"].is_number_unsigned() && facts.protocol != protocol_number);
}

bool read_answer(const json& object, verdict& answer) {
  if (!object.is_object())
    return false;
  const auto kind = object.find("verdict");
  const auto* known = std::ranges::find_if(
    verdict_names, [&](const auto& name) { return kind != object.end() && *kind == name.second; });
  if (known == verdict_names.end())
    return false;
  answer = {known->first, {}, refusal_code::unavailable};
  if (answer.is_admitted())
    return true;
  const auto reason = object.find("reason");
  const auto code = object.find("exit_code");
  if (reason == object.end() || !reason->is_string() || code == object.end())
    return false;
  answer.reason = printable_text(reason->get<std::string>().substr(0, reason_bytes_max));
  if (!is_refusal_code(*code))
    return false;
  answer.code = static_cast<refusal_code>(code->get<int>());
  return true;
}

json object_of(const verdict& answer) {
  const auto* name =
    std::ranges::find(verdict_names, answer.kind, &std::pair<verdict_kind, const char*>::first);
  json result{{"verdict", name->second}};
  if (!answer.is_admitted()) {
    result["reason"] = answer.reason;
    result["exit_code"] = static_cast<int>(answer.code);
  }
  return result;
}

constexpr const char* check_key = "check"; // CRC-32 of the line without it, keys in order

std::string text_of(const json& object) {
  return object.dump(-1, ' ', true, json::error_handler_t::replace);
}

uint64_t check_of(const json& object) {
  const auto text = text_of(object);
  return crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size()));
}

/// Takes the checksum out of a line; false when it does not match. Only another protocol's facts,
/// and an answer alone, may lack it.
bool take_check(json& object) {
  const auto found = object.find(check_key);
  if (found == object.end())
    return !object.contains("troupe") || object["troupe"] != protocol_number;
  const json given = std::move(*found);
  object.erase(found);
  return given == check_of(object);
}

} // namespace

std::string write_hello(const hello_line& x) {
  json object = json::object();
  if (x.facts) {
    for (const auto& field : text_fields)
      object[field.key] = (*x.facts).*field.value;
    for (const auto& field : number_fields)
      object[field.key] = (*x.facts).*field.value;
    for (const auto& field : truth_fields)
      object[field.key] = (*x.facts).*field.value;
    if (!x.facts->kinds.empty())
      object[kinds_key] = x.facts->kinds;
  }
  if (x.answer)
    object["answer"] = object_of(*x.answer);
  object[check_key] = check_of(object);
  return text_of(object) + '\n';
}

std::optional<hello_line> read_hello(std::string_view text) {
  if (text.size() >= hello_bytes_max)
    return std::nullopt;
  auto object = json::parse(text, nullptr, false);
  if (!object.is_object() || !take_check(object))
    return std::nullopt;
  hello_line result;
  if (object.contains("troupe") && !read_facts(object, result.facts.emplace()))
    return std::nullopt;
  if (object.contains("answer") && !read_answer(object["answer"], result.answer.emplace()))
    return std::nullopt;
  return result.facts || result.answer ? std::optional{std::move(result)} : std::nullopt;
}

greeting::greeting(const process_facts& mine, const cluster_plan& plan)
  : mine_(mine), plan_(plan) {}

greeting::greeting(const process_facts& mine, const cluster_plan& plan,
                   const std::string& dialled_name)
  : mine_(mine),
    plan_(plan),
    dialled_name_(dialled_name),
    output_(write_hello({mine, std::nullopt})) {}

void greeting::on_bytes(std::string_view bytes) {
  if (phase_ == phase::broken || bytes.empty())
    return;
  // After a refusal the peer's bytes are ignored.
  if (phase_ == phase::over && !outcome_.is_admitted())
    return;
  if (phase_ != phase::talking)
    return break_off("it did not wait for its turn");
  if (!dialled_name_ && !peer_ && input_.empty() && !proven_ &&
      static_cast<unsigned char>(bytes.front()) == tls_handshake_byte)
    return turn_away(comes_secured(mine_.node));
  const auto searched = input_.size();
  input_ += bytes;
  const auto line_end = input_.find('\n', searched);
  if (const auto most = line_bytes_max();
      line_end == std::string::npos ? input_.size() >= most : line_end >= most)
    return break_off("it says more than " + std::to_string(most) + " bytes in one line");
  if (line_end == std::string::npos)
    return;
  const auto text = std::exchange(input_, {});
  if (line_end + 1 == text.size())
    return on_line({text.data(), line_end});
  if (!read_hello({text.data(), line_end}))
    return on_strange_line({text.data(), line_end});
  break_off("it did not wait for its turn");
}

// A stranger's text is shown only on the dialling side, where people need to know what answered.
void greeting::on_strange_line(std::string_view text) {
  if (text.ends_with('\r'))
    text.remove_suffix(1);
  break_off("it is no process of troupe" +
            (dialled_name_ ? ": it says " + shown_text(text) : std::string{}));
}

void greeting::on_line(std::string_view text) {
  const bool may_visit = !dialled_name_ && !peer_;
  if (const auto visit = may_visit ? read_visit(text) : std::nullopt)
    return on_visit(*visit);
  const auto line = read_hello(text);
  if (!line)
    return on_strange_line(text);
  if (dialled_name_)
    return on_dialled_hello(*line);
  if (!peer_)
    return on_accepted_hello(*line);
  if (!line->answer || line->facts)
    return break_off("it gave no answer");
  end(*line->answer);
}

void greeting::on_visit(const visit_request& request) {
  phase_ = phase::visited;
  visit_ = request;
  auto found = admit_visit(request, mine_.version);
  if (found.is_admitted() && request.what == "table")
    found =
      plan_.find(request.node)
        ? proof_of(request.node)
        : verdict{verdict_kind::refused, "the cluster has no node " + shown_text(request.node),
                  refusal_code::mismatch};
  if (!found.is_admitted())
    on_visit_answer(visit_refusal(found));
}

// A visit opens no connection and refuses no process: its outcome is `later`.
void greeting::on_visit_answer(const std::string& line) {
  if (phase_ != phase::visited)
    return;
  output_ += line;
  end({verdict_kind::later, "a visit", refusal_code::unavailable});
}

void greeting::on_accepted_hello(const hello_line& line) {
  if (!line.facts || line.answer)
    return break_off("it did not say who it is");
  if (const auto proof = proof_of(line.facts->node); !proof.is_admitted())
    return turn_away(proof);
  peer_ = line.facts;
  phase_ = phase::asking;
  const auto found = or_over(admit(mine_, *peer_, plan_));
  if (!found.is_admitted())
    on_answer(found);
}

void greeting::on_dialled_hello(const hello_line& line) {
  if (!line.facts && line.answer && line.answer->kind == verdict_kind::refused)
    return end(*line.answer);
  if (!line.facts || !line.answer)
    return break_off("it did not say who it is");
  if (const auto name = admit_name(*line.facts, *dialled_name_); !name.is_admitted())
    return leave(name);
  peer_ = line.facts;
  if (!line.answer->is_admitted())
    return end(*line.answer);
  const auto found = or_over(admit(mine_, *peer_, plan_));
  output_ += write_hello({std::nullopt, found});
  end(found);
}

void greeting::on_proof(std::vector<std::string> names) {
  proven_ = std::move(names);
  if (believes())
    return;
  const auto proof = proof_of(*dialled_name_);
  leave({verdict_kind::later, proof.reason, refusal_code::unavailable});
}

bool greeting::believes() const {
  return !dialled_name_ || proof_of(*dialled_name_).is_admitted();
}

// The peer may be an honest process at a wrong address: it gets the reason.
void greeting::leave(const verdict& why) {
  output_ = write_hello({std::nullopt, why});
  end(why);
}

verdict greeting::proof_of(const std::string& name) const {
  return proven_ ? admit_proof(name, *proven_, plan_) : verdict{};
}

void greeting::turn_away(const verdict& why) {
  output_ = write_hello({std::nullopt, why});
  end(why);
}

// Only a process that could take part learns that the run is over.
verdict greeting::or_over(const verdict& found) const {
  // While rows are agreed on, and right after, there is nothing to compare yet.
  const bool is_early =
    over_ && (over_->kind == verdict_kind::later || *over_ == agree_on_rows_first());
  return over_ && (is_early || found.is_admitted()) ? *over_ : found;
}

void greeting::on_answer(const verdict& answer) {
  if (phase_ != phase::asking)
    return;
  output_ += write_hello({mine_, answer});
  if (answer.is_admitted())
    phase_ = phase::talking;
  else
    end(answer);
}

void greeting::end(const verdict& how) {
  phase_ = phase::over;
  outcome_ = how;
}

void greeting::break_off(const std::string& why) {
  phase_ = phase::broken;
  problem_ = why;
  output_.clear();
}

} // namespace troupe
