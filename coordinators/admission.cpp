#include "troupe/coordinators/admission.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace troupe {

namespace {

/// Of a fact shown in a reason: a digest's beginning tells two apart.
constexpr size_t shown_max = 40;

/// Foreign text for people: short, and nothing that moves a terminal.
std::string shown(std::string text) {
  std::ranges::replace_if(
    text, [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, '?');
  if (text.size() > shown_max)
    text = text.substr(0, shown_max) + "...";
  return text.empty() ? "nothing" : text;
}

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
  common_fact{&process_facts::data_fingerprint, "data", "give both the same files"},
  common_fact{&process_facts::job_sha256, "job", "start both with the same job file and settings"},
  common_fact{&process_facts::course, "length or intervals of the job",
              "start both with the same job file and settings"},
  common_fact{&process_facts::numerics, "numerics class",
              "set runtime.numerics to one that both machines have"},
};

verdict differ(const process_facts& a, const process_facts& b, const std::string& what,
               const std::string& of_a, const std::string& of_b, const std::string& hint) {
  return refuse(refusal_code::mismatch, shown(a.node) + " and " + shown(b.node) +
                                          " differ in their " + what + ": " + shown(of_a) +
                                          " and " + shown(of_b) + "; " + hint);
}

/// `a` stands before `b` in the plan.
verdict compare(const process_facts& a, const process_facts& b) {
  if (a.protocol != b.protocol)
    return differ(a, b, "protocol", std::to_string(a.protocol), std::to_string(b.protocol),
                  "install the same version of troupe on both");
  for (const auto& common : common_facts)
    if (a.*common.fact != b.*common.fact)
      return differ(a, b, common.what, a.*common.fact, b.*common.fact, common.hint);
  // Equal for two machines that repeat hardware address and process number, as containers can.
  if (a.process == b.process)
    return refuse(refusal_code::mismatch, "the machines of " + shown(a.node) + " and " +
                                            shown(b.node) +
                                            " cannot be told apart: both processes are " +
                                            shown(a.process) + "; start one of them again");
  for (const auto* director : {&a, &b}) {
    const auto& other = director == &a ? b : a;
    // Not for good: the director may be about to say the term that it has begun.
    if (director->is_director && director->term < other.term)
      return {verdict_kind::later,
              shown(director->node) + " leads term " + std::to_string(director->term) + ", and " +
                shown(other.node) + " has seen term " + std::to_string(other.term) +
                ": another director has replaced it",
              refusal_code::unavailable};
  }
  return {};
}

} // namespace

verdict admit(const process_facts& mine, const process_facts& peer, const cluster_plan& plan) {
  const auto my_place = plan.find(mine.node);
  const auto place = plan.find(peer.node);
  if (peer.protocol != mine.protocol) // its name may not be understood: in order of protocols
    return mine.protocol < peer.protocol ? compare(mine, peer) : compare(peer, mine);
  if (!place || !my_place)
    return refuse(refusal_code::no_permission, shown(place ? mine.node : peer.node) +
                                                 " is not in the cluster file of " +
                                                 shown(place ? peer.node : mine.node));
  if (*place == *my_place)
    return name_in_use(mine.node);
  if (peer.is_director != plan.nodes[*place].is_director)
    return refuse(refusal_code::mismatch, shown(peer.node) + " and " + shown(mine.node) +
                                            " disagree about which node is the director; "
                                            "start both with the same cluster file");
  return *my_place < *place ? compare(mine, peer) : compare(peer, mine);
}

verdict admit_dialled(const process_facts& mine, const process_facts& peer,
                      const cluster_plan& plan, const std::string& dialled_name) {
  if (peer.protocol == mine.protocol && peer.node != dialled_name)
    return refuse(refusal_code::no_permission,
                  "the process at the address of " + dialled_name + " is " + shown(peer.node));
  return admit(mine, peer, plan);
}

verdict admit_proof(const std::string& name, const std::vector<std::string>& proven) {
  if (std::ranges::find(proven, name) != proven.end())
    return {};
  return refuse(refusal_code::no_permission,
                shown(name) + " proves itself with a certificate for " +
                  (proven.empty() ? "no name" : shown(proven.front())) +
                  "; give it its own: troupe certs issue " + shown(name));
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
                "the name " + shown(name) + " is in use by another process that is alive");
}

verdict run_is_over(const std::string& how) {
  return refuse(refusal_code::finished, how);
}

verdict name_not_free_yet(const std::string& name) {
  return {verdict_kind::later,
          "the last process with the name " + shown(name) + " is not known to be lost yet",
          refusal_code::unavailable};
}

bool ends_process(const refusal& x, const cluster_plan& plan, const std::string& own_name) {
  const auto self = plan.find(own_name);
  const auto peer = plan.find(x.peer);
  if (x.why.kind != verdict_kind::refused || !self || !peer)
    return false;
  if (plan.nodes[*self].is_director)
    return x.was_dialled && x.why == name_in_use(own_name);
  return x.was_dialled || plan.nodes[*peer].is_director;
}

} // namespace troupe
