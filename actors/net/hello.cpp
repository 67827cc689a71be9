#include "troupe/actors/net/hello.hpp"

#include "troupe/actors/net/tls_session.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

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
  text_field{"job_sha256", &process_facts::job_sha256},
  text_field{"data", &process_facts::data_fingerprint},
  text_field{"numerics", &process_facts::numerics},
  text_field{"course", &process_facts::course},
  text_field{"process", &process_facts::process},
};

struct number_field {
  const char* key;
  uint64_t process_facts::*value;
};
constexpr std::array number_fields{
  number_field{"troupe", &process_facts::protocol},
  number_field{"incarnation", &process_facts::incarnation},
  number_field{"term", &process_facts::term},
};

constexpr std::array verdict_names{std::pair{verdict_kind::admitted, "admitted"},
                                   std::pair{verdict_kind::later, "later"},
                                   std::pair{verdict_kind::refused, "refused"}};
constexpr std::array refusal_codes{refusal_code::finished, refusal_code::unavailable,
                                   refusal_code::mismatch, refusal_code::no_permission};

/// Reasons are printed: nothing in them moves a terminal.
std::string printable(std::string text) {
  std::ranges::replace_if(
    text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return text;
}

/// True when every field is there. Another protocol may have other fields: what is there is read.
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
  const auto director = object.find("director");
  if (director != object.end() && director->is_boolean())
    facts.is_director = director->get<bool>();
  else
    is_whole = false;
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
  answer.reason = printable(reason->get<std::string>());
  const auto* found = std::ranges::find_if(
    refusal_codes, [&](refusal_code x) { return *code == static_cast<int>(x); });
  if (found == refusal_codes.end())
    return false;
  answer.code = *found;
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

} // namespace

std::string write_hello(const hello_line& x) {
  json object = json::object();
  if (x.facts) {
    for (const auto& field : text_fields)
      object[field.key] = (*x.facts).*field.value;
    for (const auto& field : number_fields)
      object[field.key] = (*x.facts).*field.value;
    object["director"] = x.facts->is_director;
  }
  if (x.answer)
    object["answer"] = object_of(*x.answer);
  return object.dump(-1, ' ', true, json::error_handler_t::replace) + '\n';
}

std::optional<hello_line> read_hello(std::string_view text) {
  if (text.size() >= hello_bytes_max)
    return std::nullopt;
  const auto object = json::parse(text, nullptr, false);
  if (!object.is_object())
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
  // After a refusal nothing it says matters any more.
  if (phase_ == phase::over && !outcome_.is_admitted())
    return;
  if (phase_ != phase::talking)
    return break_off("it did not wait for its turn");
  if (!dialled_name_ && !peer_ && input_.empty() && !proven_ &&
      static_cast<unsigned char>(bytes.front()) == tls_handshake_byte)
    return turn_away(comes_secured(mine_.node));
  input_ += bytes.substr(0, hello_bytes_max + 1 - input_.size());
  const auto line_end = input_.find('\n');
  if (line_end == std::string::npos) {
    if (input_.size() >= hello_bytes_max)
      break_off("it says more than " + std::to_string(hello_bytes_max) + " bytes in one line");
    return;
  }
  if (line_end + 1 != input_.size())
    return break_off("it did not wait for its turn");
  const auto text = std::exchange(input_, {});
  on_line({text.data(), line_end});
}

void greeting::on_line(std::string_view text) {
  const bool may_visit = !dialled_name_ && !peer_;
  if (const auto visit = may_visit ? read_visit(text) : std::nullopt)
    return on_visit(*visit);
  const auto line = read_hello(text);
  if (!line)
    return break_off("it is no process of troupe");
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
  if (const auto found = admit_visit(request, mine_.version); !found.is_admitted())
    on_visit_answer(visit_refusal(found));
}

// Nothing is opened, and nobody was refused who wanted to take part.
void greeting::on_visit_answer(const std::string& line) {
  if (phase_ != phase::visited)
    return;
  output_ += line;
  end({verdict_kind::later, "a visit", refusal_code::unavailable});
}

void greeting::on_accepted_hello(const hello_line& line) {
  if (!line.facts || line.answer)
    return break_off("it did not say who it is");
  peer_ = line.facts;
  phase_ = phase::asking;
  if (const auto proof = proof_of(peer_->node); !proof.is_admitted()) {
    peer_.reset(); // nobody knows who it is
    return on_answer(proof);
  }
  const auto found = or_over(admit(mine_, *peer_, plan_));
  if (!found.is_admitted())
    on_answer(found);
}

void greeting::on_dialled_hello(const hello_line& line) {
  if (!line.facts && line.answer && line.answer->kind == verdict_kind::refused)
    return end(*line.answer);
  if (!line.facts || !line.answer)
    return break_off("it did not say who it is");
  peer_ = line.facts;
  if (!line.answer->is_admitted())
    return end(*line.answer);
  const auto proof = proof_of(*dialled_name_);
  const auto found =
    proof.is_admitted() ? or_over(admit_dialled(mine_, *peer_, plan_, *dialled_name_)) : proof;
  output_ += write_hello({std::nullopt, found});
  end(found);
}

verdict greeting::proof_of(const std::string& name) const {
  return proven_ ? admit_proof(name, *proven_) : verdict{};
}

void greeting::turn_away(const verdict& why) {
  output_ = write_hello({std::nullopt, why});
  end(why);
}

// Only who may take part is told that it is too late.
verdict greeting::or_over(const verdict& found) const {
  return over_ && found.is_admitted() ? *over_ : found;
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
