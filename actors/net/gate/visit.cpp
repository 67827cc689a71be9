#include "actors/net/gate/visit.hpp"

#include "actors/protocol/status_messages.hpp"
#include "actors/run/explanation.hpp"
#include "actors/run/trainer_records.hpp"
#include "data/records/history_figures.hpp"
#include "data/records/trainer_table.hpp"
#include "data/text/checksum.hpp"
#include "data/text/json_value.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <span>

namespace troupe {

namespace {

using ordered_json = nlohmann::ordered_json;

// The last key of a line is the checksum of all that stands before it.
constexpr std::string_view check_begin = R"(,"check":")";
constexpr std::string_view check_end = R"("})";

std::string check_of(std::string_view text) {
  return fmt::format("{:016x}", short_checksum_of(std::as_bytes(std::span{text})));
}

/// Of an object that is not empty.
std::string line_of(const ordered_json& object) {
  auto text = object.dump(-1, ' ', true, ordered_json::error_handler_t::replace);
  text.pop_back();
  const auto check = check_of(text);
  return text.append(check_begin).append(check).append(check_end) + '\n';
}

double seconds_of(milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

ordered_json texts_of(const std::vector<awaited>& waits) {
  auto result = ordered_json::array();
  for (const auto& wait : waits)
    result.push_back(wait.from.empty() ? wait.what : wait.what + " from " + wait.from);
  return result;
}

// A spare takes part without slices and spans.
const char* role_of(const node_status& x) {
  if (x.takes_part && x.slices + x.spans == 0)
    return x.is_director ? "director" : "spare";
  return x.is_director ? "director" : x.slices == 0 && x.spans > 0 ? "server" : "worker";
}

/// The kinds of tensors of which something was sent.
ordered_json object_of(const bytes_of_kinds& x) {
  auto result = ordered_json::object();
  for (const auto& [kind, name] : name_table<tensor_kind>::entries)
    if (const auto bytes = x[static_cast<size_t>(kind)]; bytes > 0)
      result[std::string{name}] = bytes;
  return result;
}

ordered_json object_of(const node_status& x) {
  ordered_json result{
    {"name", x.name},
    {"role", role_of(x)},
    {"state", x.takes_part  ? "takes part"
              : x.is_linked ? "linked"
                            : "missing"},
    {"replicas", x.replicas},
    {"shards", x.shards},
    {"slices", x.slices},
    {"spans", x.spans},
    {"step", json_of<ordered_json>(x.version)},
    {"shard_steps", x.shard_versions},
    {"waits_for", texts_of(x.waits)},
    {"last_heard_seconds", x.silence >= 0 ? ordered_json(x.silence) : ordered_json()},
    {"samples", x.samples},
    {"bytes_sent", sum_of(x.wire.bytes_sent)},
    {"bytes_by_kind", object_of(x.wire.bytes_sent)},
    {"resends", x.wire.resends}};
  if (!x.partitions.empty())
    result["partitions"] = x.partitions;
  for (const auto& piece : x.pieces)
    result["works_at"].push_back({{"actor", piece.who},
                                  {"what", piece.what},
                                  {"seconds", seconds_of(piece.busy)},
                                  {"longest_seconds", seconds_of(piece.longest)}});
  result["late_seconds"] = x.late;
  if (!x.trouble.empty())
    result["trouble"] = x.trouble;
  return result;
}

ordered_json object_of(const history_row& x) {
  auto result = row_object<ordered_json>(x);
  result.erase("seconds"); // the run's seconds say more
  result.erase("learning_rate");
  return result;
}

ordered_json object_of(const wait_explanation& x) {
  auto chain = ordered_json::array();
  for (const auto& wait : x.chain)
    chain.push_back({{"who", wait.who},
                     {"from", wait.from.empty() ? ordered_json() : ordered_json(wait.from)},
                     {"what", wait.what}});
  return {{"rule", name_of(x.rule)},
          {"culprits", x.culprits},
          {"chain", chain},
          {"verdict", x.verdict},
          {"advice", x.advice}};
}

ordered_json object_of(const client_presence& x) {
  return {{"here", x.here},
          {"wanted", x.wanted},
          {"invited", x.invited},
          {"answered", x.answered},
          {"counted", x.counted},
          {"refused", x.refused},
          {"came_bytes", x.came_bytes},
          {"sent_bytes", x.sent_bytes},
          {"gathers", x.gathers}};
}

ordered_json object_of(const link_figures& x) {
  return {{"from", x.from},
          {"to", x.to},
          {"sent_bytes", x.sent},
          {"came_bytes", x.came},
          {"unseen_bytes", x.unseen},
          {"ranges_waiting", x.waiting},
          {"bytes_per_second", x.bytes_per_second},
          {"still_seconds", seconds_of(x.still)},
          {"carrier", name_of(x.carrier)}};
}

ordered_json object_of(const slow_trainer& x) {
  return {{"process", x.who.process},
          {"replica", x.who.index},
          {"steps", x.steps},
          {"last", x.last},
          {"waited_share", x.waited_share},
          {"late_ms", x.late_ms},
          {"computing_ratio", x.computing_ratio}};
}

ordered_json object_of(const training_status& x) {
  ordered_json result{{"phase", x.phase},
                      {"view", {{"term", x.view.term}, {"number", x.view.number}}},
                      {"step", x.version},
                      {"last_step", x.last_version},
                      {"epoch", x.epoch},
                      {"epochs", x.epochs},
                      {"seconds", x.seconds},
                      {"steps_per_second", x.steps_per_second},
                      {"samples_per_second", x.samples_per_second},
                      {"replicas", x.replicas},
                      {"shards", x.shards},
                      {"waits_for", x.waits_for},
                      {"still_seconds", x.still},
                      {"behind", ordered_json::array()},
                      {"nodes", ordered_json::array()}};
  each_recovery_figure(x, [&](const char* name, auto value) { result[name] = value; });
  result["goodput"] = x.goodput();
  if (!x.figures.left_out.empty())
    result["left_out"] = x.figures.left_out;
  traffic wire;
  for (const auto& late : x.late)
    result["behind"].push_back({{"node", late.name}, {"seconds", x.still}, {"lacks", late.what}});
  for (const auto& node : x.nodes) {
    result["nodes"].push_back(object_of(node));
    wire += node.wire;
  }
  result["links"] = ordered_json::array();
  for (const auto& link : x.links)
    result["links"].push_back(object_of(link));
  result["slow"] = x.slow.empty() ? ordered_json(nullptr) : object_of(x.slow.front());
  result["writes_for_seconds"] = x.writes_for;
  result["train_loss"] = json_of<ordered_json>(x.train_loss);
  result["train_accuracy"] = json_of<ordered_json>(x.train_accuracy);
  result["learning_rate"] = json_of<ordered_json>(x.learning_rate);
  result["seconds_left"] = json_of<ordered_json>(x.seconds_left);
  result["newest_row"] =
    x.newest_row.empty() ? ordered_json(nullptr) : object_of(x.newest_row.front());
  result["trainers"] = records_of(x.figures);
  if (x.clients)
    result["clients"] = object_of(*x.clients);
  if (const auto& privacy = x.figures.clients.privacy)
    result["privacy"] = {
      {"epsilon", privacy->epsilon}, {"delta", privacy->delta}, {"releases", privacy->releases}};
  result["bytes_sent"] = sum_of(wire.bytes_sent);
  result["bytes_by_kind"] = object_of(wire.bytes_sent);
  result["resends"] = wire.resends;
  result["job_sha256"] = x.job_sha256;
  const auto why = explain(x);
  result["explanation"] = why ? object_of(*why) : ordered_json(nullptr);
  return result;
}

ordered_json answer_of(const char* verdict_name) {
  return {{"troupe", protocol_number}, {"answer", {{"verdict", verdict_name}}}};
}

} // namespace

std::string write_visit(const visit_request& x) {
  ordered_json result{{"troupe", x.protocol}, {"version", x.version}, {"visit", x.what}};
  if (!x.node.empty())
    result["node"] = x.node;
  if (!x.card.empty())
    result["card"] = x.card;
  return line_of(result);
}

bool begins_with_card(std::string_view text) {
  constexpr size_t bytes_before_card = 256; // the version, and what visits begin with
  return text.substr(0, bytes_before_card).find("\"visit\":\"table\"") != text.npos;
}

line_state state_of(std::string_view line) {
  if (line.ends_with('\n'))
    line.remove_suffix(1);
  constexpr size_t digits = 16;
  constexpr auto length = check_begin.size() + digits + check_end.size();
  const auto text = line.substr(0, line.size() - std::min(line.size(), length));
  const auto check = line.substr(text.size());
  if (check.starts_with(check_begin) && check.ends_with(check_end))
    return check.substr(check_begin.size(), digits) == check_of(text) ? line_state::whole
                                                                      : line_state::damaged;
  const auto object =
    is_nested_too_deep(line) ? ordered_json{} : ordered_json::parse(line, nullptr, false);
  if (!object.is_object() || !object.contains("troupe"))
    return line_state::strange;
  return object["troupe"] == protocol_number ? line_state::damaged : line_state::foreign;
}

std::optional<visit_request> read_visit(std::string_view text) {
  if (state_of(text) == line_state::damaged)
    return std::nullopt;
  const auto object = ordered_json::parse(text, nullptr, false);
  if (!object.is_object() || !object.contains("visit") || !object["visit"].is_string() ||
      !object.contains("troupe") || !object["troupe"].is_number_unsigned())
    return std::nullopt;
  visit_request result{object["troupe"].get<uint64_t>(), {}, object["visit"].get<std::string>()};
  for (const auto& [key, value] :
       {std::pair{"version", &result.version}, std::pair{"node", &result.node},
        std::pair{"card", &result.card}})
    if (const auto found = object.find(key); found != object.end() && found->is_string())
      *value = found->get<std::string>();
  return result;
}

verdict admit_visit(const visit_request& x, const std::string& own_version) {
  if (x.protocol != protocol_number || x.version != own_version)
    return {verdict_kind::refused,
            "the director runs version " + own_version +
              " of troupe, and whoever asks another one; ask with the same",
            refusal_code::mismatch};
  if (x.what != "status" && x.what != "table")
    return {verdict_kind::refused,
            "a visitor may ask for the status or the table, and nothing else",
            refusal_code::mismatch};
  return {};
}

std::string visit_refusal(const verdict& why) {
  auto answer = answer_of("refused");
  answer["answer"]["reason"] = why.reason;
  answer["answer"]["exit_code"] = static_cast<int>(why.code);
  return line_of(answer);
}

std::string visit_answer(const training_status& status) {
  auto answer = answer_of("admitted");
  answer["status"] = object_of(status);
  return line_of(answer);
}

std::string visit_answer(const table_answer& x) {
  auto answer = answer_of("admitted");
  answer["rows"] = {{"waits_for", x.waits_for}, {"alone", x.is_alone},    {"form", x.form},
                    {"table", x.table},         {"code", x.problem_code}, {"problem", x.problem},
                    {"place", x.problem_place}, {"hint", x.problem_hint}};
  return line_of(answer);
}

std::optional<table_answer> read_table_answer(std::string_view text) {
  const auto object =
    is_nested_too_deep(text) ? ordered_json{} : ordered_json::parse(text, nullptr, false);
  if (!object.is_object() || !object.contains("rows") || !object["rows"].is_object())
    return std::nullopt;
  const auto& rows = object["rows"];
  table_answer result;
  for (const auto& [key, value] :
       {std::pair{"waits_for", &result.waits_for}, std::pair{"form", &result.form},
        std::pair{"table", &result.table}, std::pair{"problem", &result.problem},
        std::pair{"place", &result.problem_place}, std::pair{"hint", &result.problem_hint}}) {
    const auto found = rows.find(key);
    if (found == rows.end() || !found->is_string())
      return std::nullopt;
    *value = found->get<std::string>();
  }
  const auto alone = rows.find("alone"), code = rows.find("code");
  if (alone == rows.end() || !alone->is_boolean() || code == rows.end() ||
      !code->is_number_integer())
    return std::nullopt;
  result.is_alone = alone->get<bool>();
  result.problem_code = code->get<int>();
  return result;
}

std::string status_json(const training_status& status) {
  return object_of(status).dump(-1, ' ', true, ordered_json::error_handler_t::replace);
}

} // namespace troupe
