#include "tests/simulation/wire_message.hpp"

#include "coordinators/parallel/boundary_tensors.hpp"

#include <caf/binary_deserializer.hpp>
#include <caf/binary_serializer.hpp>

#include <stdexcept>
#include <vector>

namespace troupe::simulation {

namespace {

std::string range_in_words(uint64_t begin, uint64_t end) {
  return std::to_string(begin) + ".." + std::to_string(end);
}

std::string ranges_in_words(const std::vector<index_range>& ranges) {
  std::string text;
  for (const auto& range : ranges)
    text += (text.empty() ? "" : ", ") + range_in_words(range.begin, range.end);
  return text.empty() ? "none" : text;
}

std::string id_in_words(const view_number& id) {
  return std::to_string(id.term) + "." + std::to_string(id.number);
}

std::string or_dash(const std::optional<uint64_t>& value) {
  return value ? std::to_string(*value) : "-";
}

std::string words(const cluster_view& x) {
  std::string text =
    "view " + id_in_words(x.id) + " from version " + std::to_string(x.start_version) + ", members";
  for (const auto& one : x.members)
    text += " " + one.name + "#" + std::to_string(one.incarnation);
  for (const auto& one : x.replicas)
    text += ", " + x.members[one.member].name + " slices " +
            range_in_words(one.slices.begin, one.slices.end);
  for (const auto& one : x.shards)
    text += ", " + x.members[one.member].name + " blocks " +
            range_in_words(one.blocks.begin, one.blocks.end);
  for (const auto& one : x.holders)
    text += ", " + x.members[one.member].name + " has blocks " +
            range_in_words(one.blocks.begin, one.blocks.end);
  if (x.copy_every > 0)
    text += ", " + std::to_string(x.deputies) + " copies each " + std::to_string(x.copy_every);
  return text;
}

std::string words(const directive& x) {
  return "directive " + std::to_string(x.term) + "/" + std::to_string(x.sequence) + " up to " +
         std::to_string(x.rule.version) + (x.rule.final ? " (final)" : "") +
         (x.rule.is_cut ? " (a cut)" : "") + ", rows " + std::to_string(x.row_version) +
         ", checkpoint " + std::to_string(x.checkpoint_version);
}

std::string words(const given_up& x) {
  return "incarnation " + std::to_string(x.incarnation) + " is given up";
}

std::string words(const hold_request& x) {
  return "hold " + std::to_string(x.term) + "/" + std::to_string(x.sequence);
}

std::string words(const copies_request& x) {
  return "which copies are held before term " + std::to_string(x.term);
}

std::string words(const hold_answer& x) {
  std::string text = x.name + " holds in view " + id_in_words(x.view) + " before step " +
                     std::to_string(x.next_step) + ", shards at";
  for (auto version : x.shard_versions)
    text += " " + std::to_string(version);
  return text;
}

std::string name_in_words(const tensor_name& x) {
  const auto key = std::to_string(x.key);
  switch (x.kind) {
  case tensor_kind::gradient:
    return "gradients of step " + key + ", slices " + range_in_words(x.node.begin, x.node.end);
  case tensor_kind::parameters:
    return "parameters of version " + key;
  case tensor_kind::state:
    return "state of version " + key + ", part " + std::to_string(x.part);
  case tensor_kind::copy:
    return "copy of version " + key + ", part " + std::to_string(x.part);
  case tensor_kind::task:
    return "task " + key + ", vector " + std::to_string(x.part);
  case tensor_kind::result:
    return "result of task " + key + ", vector " + std::to_string(x.part);
  case tensor_kind::model:
    return "model " + key;
  case tensor_kind::block_sums:
    return "sums over blocks of step " + key;
  case tensor_kind::boundary: {
    const auto name = boundary_tensors::name_of(x.key, x.part);
    static constexpr const char* ways[] = {" forward", " backward", " figures"};
    return "boundary " + std::to_string(name.boundary) + ways[static_cast<size_t>(name.way)] +
           " of " + (name.evaluates ? "version " : "step ") + key + ", item " +
           std::to_string(name.item) + ", parts " + range_in_words(x.node.begin, x.node.end);
  }
  }
  return "?";
}

std::string words(const sent_piece& x) {
  return name_in_words(x.what.of) + " in term " + std::to_string(x.what.of.term) + ", elements " +
         range_in_words(x.what.first_element, x.what.first_element + x.what.values.size());
}

std::string words(const shard_numbers& x) {
  return "numbers of version " + std::to_string(x.version) + " from element " +
         std::to_string(x.first_element) + (x.keeps_metrics ? ", with the metrics" : "");
}

std::string words(const sent_credit& x) {
  return "credit up to " + std::to_string(x.what.bytes) + " of link " + std::to_string(x.what.link);
}

std::string words(const sent_stamp& x) {
  return "what has come of " + std::to_string(x.what.bytes) + " bytes on link " +
         std::to_string(x.what.link) + "?";
}

std::string words(const sent_want& x) {
  return (x.by.is_director ? "the director" : x.by.process) + " wants " + name_in_words(x.what.of) +
         (x.what.or_newer ? " or newer" : "") + ", elements " + ranges_in_words(x.what.elements);
}

std::string words(const task_header& x) {
  return "task " + std::to_string(x.number) + " to replica " + std::to_string(x.replica) +
         (x.evaluates ? ", an evaluation of version " : ", from step ") +
         std::to_string(x.first_step);
}

std::string words(const sequence_news& x) {
  return "decisions " + std::to_string(x.entries.empty() ? 0 : x.entries.front().position) +
         " to " + std::to_string(x.entries.empty() ? 0 : x.entries.back().position);
}

std::string words(const span_progress& x) {
  return "owner " + std::to_string(x.shard) + " has decisions up to " + std::to_string(x.position) +
         " and " + std::to_string(x.whole.size()) + " updates";
}

std::string words(const result_header& x) {
  return "result of task " + std::to_string(x.number);
}

std::string words(const node_report& x) {
  std::string text = "report of " + x.name + " in view " + id_in_words(x.view) + ", holds " +
                     or_dash(x.held) + ", shards at";
  for (auto version : x.shard_versions)
    text += " " + std::to_string(version);
  for (const auto& one : x.unreachable)
    text += ", no link to " + one;
  if (x.leaves)
    text += ", asks to leave";
  for (const auto& wait : x.waits)
    text += ", waits for " + wait.what + (wait.from.empty() ? "" : " from " + wait.from);
  return text;
}

std::string words(const training_report& x) {
  return (x.is_row    ? "row of version "
          : x.is_mark ? "mark of version "
                      : "progress at version ") +
         std::to_string(x.version);
}

std::string words(const evaluation& x) {
  return "evaluation of version " + std::to_string(x.version) + ", chunks " +
         range_in_words(x.first_chunk, x.first_chunk + x.chunks.size());
}

std::string words(const span_hash& x) {
  return "hash of version " + std::to_string(x.version) + ", blocks " +
         range_in_words(x.blocks.begin, x.blocks.end);
}

std::string words(const not_finite_report& x) {
  return "problem of step " + std::to_string(x.step) + ": " + x.what;
}

/// Nothing when it cannot be read.
template <class T>
std::optional<caf::message> reread(caf::actor_system& system, const std::vector<char>& bytes) {
  T copy;
  caf::binary_deserializer source{system, bytes};
  if (source(copy))
    return std::nullopt;
  return caf::make_message(std::move(copy));
}

template <class T>
std::vector<char> written(caf::actor_system& system, const T& x) {
  std::vector<char> bytes;
  caf::binary_serializer sink{system, bytes};
  if (const auto problem = sink(const_cast<T&>(x)))
    throw std::logic_error("simulation: a message cannot be written: " + system.render(problem));
  return bytes;
}

/// Calls `f` with the message's value, whatever its type is; false for a type not in the list.
template <class T, class... Ts, class F>
bool visit_one_of(const caf::message& content, F&& f) {
  if (content.match_elements<T>()) {
    f(content.get_as<T>(0));
    return true;
  }
  if constexpr (sizeof...(Ts) > 0)
    return visit_one_of<Ts...>(content, f);
  return false;
}

template <class F>
bool visit(const caf::message& content, F&& f) {
  return visit_one_of<sent_piece, sent_want, node_report, directive, cluster_view, given_up,
                      hold_request, copies_request, hold_answer, shard_numbers, training_report,
                      evaluation, span_hash, not_finite_report, sent_credit, sent_stamp,
                      task_header, result_header, sequence_news, span_progress>(content, f);
}

} // namespace

caf::message carried(caf::actor_system& system, const caf::message& content) {
  std::optional<caf::message> result;
  visit(content, [&]<class T>(const T& x) { result = reread<T>(system, written(system, x)); });
  if (!result)
    throw std::logic_error("simulation: this may not cross a wire: " + caf::to_string(content));
  return *result;
}

std::optional<caf::message> damaged(caf::actor_system& system, const caf::message& content,
                                    dice& random) {
  std::optional<caf::message> result;
  visit(content, [&]<class T>(const T& x) {
    auto bytes = written(system, x);
    auto hit = random.below(bytes.size());
    size_t begin_of_values = bytes.size();
    if constexpr (std::is_same_v<T, sent_piece>) { // they end it
      begin_of_values -= x.what.values.size() * bytes_of(x.what.values.format());
      if (random.chance(50)) // or most would hit values
        hit = random.below(begin_of_values);
    }
    if (hit < begin_of_values)
      return; // the record that it lies in has a checksum, too: nobody reads it
    bytes[hit] = static_cast<char>(bytes[hit] ^ (1 << random.below(8)));
    result = reread<T>(system, bytes);
  });
  return result;
}

std::string in_words(const caf::message& content) {
  std::string text;
  if (!visit(content, [&](const auto& x) { text = words(x); }))
    text = caf::to_string(content);
  return text;
}

size_t piece_bytes(const caf::message& content) {
  return content.match_elements<sent_piece>()
           ? content.get_as<sent_piece>(0).what.values.values().size_bytes()
           : 0;
}

bool is_carried(const caf::message& content) {
  return content.match_elements<sent_piece>() || content.match_elements<sent_stamp>() ||
         content.match_elements<sent_credit>();
}

size_t wire_bytes(caf::actor_system& system, const caf::message& content) {
  constexpr size_t head_bytes = 152; // actors/net/carriers/carried_frame.hpp
  if (content.match_elements<sent_piece>()) {
    const auto& values = content.get_as<sent_piece>(0).what.values;
    return head_bytes + values.size() * bytes_of(values.format());
  }
  size_t result = 0;
  visit(content, [&](const auto& x) { result = written(system, x).size(); });
  return result;
}

std::optional<uint64_t> version_shown(const caf::message& content) {
  if (content.match_elements<task_header>())
    return content.get_as<task_header>(0).first_step;
  if (!content.match_elements<sent_piece>())
    return std::nullopt;
  const auto& name = content.get_as<sent_piece>(0).what.of;
  const bool is_version = name.kind != tensor_kind::task && name.kind != tensor_kind::result &&
                          name.kind != tensor_kind::model;
  return is_version ? std::optional{name.key} : std::nullopt;
}

} // namespace troupe::simulation
