#include "coordinators/links/admission.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <utility>

namespace troupe {

namespace {

verdict refuse(refusal_code code, std::string reason) {
  return {verdict_kind::refused, std::move(reason), code};
}

/// A fact that both must have in common.
struct common_fact {
  std::string process_facts::*fact;
  const char* what;
  const char* hint;
};

// Data before job: a job's hash differs too when its data do.
constexpr std::array common_facts{
  common_fact{&process_facts::version, "version of troupe", "install the same one on both"},
  common_fact{&process_facts::data, "data", "give both the same files"},
  common_fact{&process_facts::job, "job", "start both with the same job file and settings"},
  common_fact{&process_facts::cluster, "cluster file",
              "start both with the same one, and the same settings"},
  common_fact{&process_facts::directive, "length or intervals of the job",
              "start both with the same job file and settings"},
  common_fact{&process_facts::arithmetic, "arithmetic",
              "one that computes other than everybody is a broken machine or build: leave it out"},
  // Behind `arithmetic`: it may differ as a consequence.
  common_fact{&process_facts::kinds, "kinds' own arithmetic",
              "start the same program on both, built alike from the same sources"},
};

verdict differ(const process_facts& a, const process_facts& b, const std::string& what,
               const std::string& how, const std::string& hint) {
  return refuse(refusal_code::mismatch, shown_fact(a.node) + " and " + shown_fact(b.node) +
                                          " differ in their " + what + ": " + how + "; " + hint);
}

/// `a` stands before `b` in the plan.
verdict compare(const process_facts& a, const process_facts& b) {
  if (a.protocol != b.protocol)
    return differ(a, b, "protocol",
                  first_difference(std::to_string(a.protocol), std::to_string(b.protocol)),
                  "install the same version of troupe on both");
  for (const auto& common : common_facts)
    if (a.*common.fact != b.*common.fact)
      return differ(a, b, common.what, first_difference(a.*common.fact, b.*common.fact),
                    common.hint);
  // Equal for two machines that repeat hardware address and process number, as containers can.
  if (a.process == b.process)
    return refuse(refusal_code::mismatch, "the machines of " + shown_fact(a.node) + " and " +
                                            shown_fact(b.node) +
                                            " cannot be told apart: both processes are " +
                                            shown_fact(a.process) + "; start one of them again");
  for (const auto* director : {&a, &b}) {
    const auto& other = director == &a ? b : a;
    // Not for good: the director may be about to announce the term that it has begun.
    if (director->is_director && director->term < other.term)
      return {verdict_kind::later,
              shown_fact(director->node) + " leads term " + std::to_string(director->term) +
                ", and " + shown_fact(other.node) + " has seen term " + std::to_string(other.term) +
                ": another director has replaced it",
              refusal_code::unavailable};
  }
  return {};
}

/// Of a fact shown in a reason: the beginnings of two digests differ.
constexpr size_t shown_max = 40;

constexpr std::string_view equals = " = ";

/// The first line of `text`, without its end; empty when there is none.
std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

void remove_first_line(std::string_view& text) {
  const auto end = text.find('\n');
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
}

/// Empty for a fact that is one word.
std::string_view key_of(std::string_view line) {
  const auto at = line.find(equals);
  return at == std::string_view::npos ? std::string_view{} : line.substr(0, at);
}

std::string_view value_of(std::string_view line) {
  const auto at = line.find(equals);
  return at == std::string_view::npos ? line : line.substr(at + equals.size());
}

bool has_key(std::string_view text, std::string_view key) {
  for (; !text.empty(); remove_first_line(text))
    if (key_of(first_line(text)) == key)
      return true;
  return false;
}

// A job's keys have a dot, and its numbers are their bits in 16 hexadecimal digits: people see the number.
std::string with_numbers(std::string_view key, std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto end = std::min(text.find_first_not_of("0123456789abcdef"), text.size());
    uint64_t bits = 0;
    std::from_chars(text.data(), text.data() + end, bits, 16);
    result += end == 16 && key.find('.') != key.npos
                ? fmt::format("{}", std::bit_cast<double>(bits))
                : std::string{text.substr(0, end)};
    result += text.substr(end, 1);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

std::string difference(std::string_view key, std::string_view of_a, std::string_view of_b) {
  return (key.empty() ? "" : shown_fact(key) + std::string{equals}) +
         shown_fact(with_numbers(key, of_a)) + " and " + shown_fact(with_numbers(key, of_b));
}

} // namespace

verdict admit(const process_facts& mine, const process_facts& peer, const cluster_plan& plan) {
  if (peer.protocol != mine.protocol) // its name may not be understood: in order of protocols
    return mine.protocol < peer.protocol ? compare(mine, peer) : compare(peer, mine);
  const auto takes = [&](const std::string& name) {
    return plan.lists(name) || (plan.join && is_node_name(name));
  };
  if (!takes(mine.node) || !takes(peer.node))
    return refuse(refusal_code::no_permission,
                  shown_fact(takes(peer.node) ? mine.node : peer.node) +
                    " is not in the cluster file of " +
                    shown_fact(takes(peer.node) ? peer.node : mine.node));
  if (peer.node == mine.node)
    return name_in_use(mine.node);
  if (peer.is_director != (plan.lists(peer.node) && plan.nodes[*plan.find(peer.node)].is_director))
    return refuse(refusal_code::mismatch, shown_fact(peer.node) + " and " + shown_fact(mine.node) +
                                            " disagree about which node is the director; "
                                            "start both with the same cluster file");
  return plan.is_before(mine.node, peer.node) ? compare(mine, peer) : compare(peer, mine);
}

verdict admit_name(const process_facts& peer, const std::string& dialled_name) {
  if (peer.protocol != protocol_number || peer.node == dialled_name)
    return {};
  return {verdict_kind::later,
          "the process at the address of " + dialled_name + " is " + shown_fact(peer.node),
          refusal_code::unavailable};
}

verdict admit_proof(const std::string& name, const std::vector<std::string>& proven,
                    const cluster_plan& plan) {
  const auto& wanted = plan.proof_name(name);
  if (std::ranges::find(proven, wanted) != proven.end())
    return {};
  const auto found = proven.empty() ? "no name" : shown_fact(proven.front());
  return refuse(refusal_code::no_permission,
                shown_fact(name) +
                  (wanted == name
                     ? " proves itself with a certificate for " + found + "; give it its own"
                     : ", which the cluster file does not list, proves itself with a certificate "
                       "for " +
                         found + "; give it one of those that may join") +
                  ": troupe certs issue " + shown_fact(wanted));
}

verdict comes_unsecured(const std::string& name) {
  return refuse(refusal_code::no_permission,
                name + " secures its connections (TLS), and whoever came does not; give both the "
                       "same [tls] in the cluster file");
}

verdict comes_secured(const std::string& name) {
  return refuse(refusal_code::no_permission,
                name + " does not secure its connections, and whoever came does (TLS); give both "
                       "the same [tls] in the cluster file");
}

verdict name_in_use(const std::string& name) {
  return refuse(refusal_code::no_permission,
                "the name " + shown_fact(name) + " is in use by another process that is alive");
}

verdict cluster_is_full(const cluster_plan& plan) {
  return {verdict_kind::later,
          "as many nodes are here as may be (max_nodes = " + std::to_string(plan.node_count_max()) +
            ")",
          refusal_code::unavailable};
}

verdict run_is_over(const std::string& how) {
  return refuse(refusal_code::finished, how);
}

verdict agree_on_rows_first() {
  return refuse(refusal_code::agree_first, "the nodes have not agreed on their rows");
}

verdict name_not_free_yet(const std::string& name) {
  return {verdict_kind::later,
          "the last process with the name " + shown_fact(name) + " is not known to be lost yet",
          refusal_code::unavailable};
}

bool ends_process(const refusal& x, const cluster_plan& plan, const std::string& own_name) {
  const auto self = plan.find(own_name);
  const auto peer = plan.find(x.peer);
  if (x.why.kind != verdict_kind::refused || !self || !peer)
    return false;
  if (x.was_dialled && x.why == name_in_use(own_name))
    return true;
  return plan.nodes[*peer].is_director && !plan.nodes[*self].is_director;
}

std::string shown_fact(std::string_view text) {
  std::string result{text.substr(0, shown_max)};
  std::ranges::replace_if(
    result, [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, '?');
  if (text.size() > shown_max)
    result += "...";
  return result.empty() ? "nothing" : result;
}

std::string first_difference(std::string_view of_a, std::string_view of_b) {
  while (!of_a.empty() && first_line(of_a) == first_line(of_b)) {
    remove_first_line(of_a);
    remove_first_line(of_b);
  }
  if (of_a == of_b)
    return {};
  const auto a = first_line(of_a);
  const auto b = first_line(of_b);
  if (key_of(a) == key_of(b))
    return difference(key_of(a), value_of(a), value_of(b));
  if (!a.empty() && !b.empty() && (key_of(a).empty() || key_of(b).empty()))
    return difference({}, a, b);
  if (a.empty() || has_key(of_a, key_of(b)) < has_key(of_b, key_of(a)))
    return difference(key_of(b), {}, value_of(b));
  return difference(key_of(a), value_of(a), {});
}

} // namespace troupe
