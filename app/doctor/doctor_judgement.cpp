#include "app/doctor/doctor_judgement.hpp"

#include "app/terminal/figures_text.hpp"
#include "coordinators/job/memory_need.hpp"
#include "models/base/arithmetic.hpp"
#include "models/device/on_devices.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace troupe {

namespace {

constexpr int64_t day_seconds = 86'400;

std::string rounded(double x) {
  return fmt::format("{:.3g}", x);
}

std::string counted(size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string threads_text(const wishes& wanted) {
  return wanted.threads ? ", " + counted(*wanted.threads, "thread") + " wanted" : "";
}

using json = nlohmann::ordered_json;

std::string padded(std::string text, size_t columns) {
  text.resize(std::max(text.size(), columns), ' ');
  return text;
}

health worst_of(const findings& all) {
  health result = health::ok;
  for (const auto& one : all)
    result = std::max(result, one.verdict);
  return result;
}

json object_of(const finding& x) {
  return {{"check", x.check}, {"verdict", name_of(x.verdict)}, {"what", x.what}, {"hint", x.hint}};
}

} // namespace

finding judge_processors(const machine_facts& x, const wishes& wanted) {
  const std::string check = "processors";
  const auto cores = counted(x.core_count, "core") + threads_text(wanted);
  const size_t threads = wanted.threads.value_or(x.core_count);
  if (x.core_quota && *x.core_quota < static_cast<double>(threads))
    return {check, health::warn,
            cores + ", but the control group allows " + rounded(*x.core_quota) + " at a time",
            "raise the quota, or set runtime.threads to what it allows: threads that are stopped "
            "in turns make each other wait"};
  if (threads > x.core_count)
    return {check, health::warn, cores,
            "set runtime.threads to the cores there are, or leave it out"};
  return {check, health::ok, cores};
}

finding judge_arithmetic(const machine_facts& x, const wishes& wanted) {
  const std::string check = "arithmetic";
  if (wanted.instructions && !x.has(*wanted.instructions))
    return {check, health::fail,
            "this processor has no " + std::string{name_of(*wanted.instructions)} +
              ", which runtime.instructions wants",
            "leave it out: the bits are the same with any", failure_code::mismatch};
  if (x.arithmetic != arithmetic_name)
    return {check, health::fail, "this machine computes wrong: " + x.arithmetic,
            "build the program anew, and mistrust this processor or what emulates it",
            failure_code::mismatch};
  const auto used = wanted.instructions.value_or(x.instructions.front());
  const auto what =
    x.arithmetic + ", the same on every machine; products by " + std::string{name_of(used)};
  if (used == products::instruction_set::portable)
    return {check, health::warn, what,
            "the bits are right, but a processor with AVX2 and FMA is some 100 times faster"};
  return {check, health::ok, what};
}

findings judge_devices(const std::vector<device_state>& all, const wishes& wanted) {
  findings result;
  for (const auto& [facts, problem, gflops] : all) {
    const auto check = "device " + std::to_string(facts.number);
    const auto what = facts.name + " (" + facts.platform + "), " + bytes_text(facts.memory_bytes);
    if (problem.empty())
      result.push_back(
        {check, health::ok,
         what + ": the bits of the processor; products " + rounded(gflops) + " GFLOP/s"});
    else
      result.push_back({check, health::warn, what + ": " + problem,
                        "no run uses it: its results would not be the processor's"});
  }
  if (wanted.device == processor_choice)
    return result;
  try {
    const auto called = devices_called(wanted.device);
    for (const auto& [facts, problem, gflops] : all)
      if (wanted.device != automatic_choice && !problem.empty() &&
          std::ranges::any_of(called, [&](const auto& x) { return x.number == facts.number; }))
        throw device_error(facts.name + ": " + problem);
  } catch (const device_error& problem) {
    result.push_back({"runtime.device", health::fail, problem.what(),
                      "choose another device, or leave the key out", failure_code::mismatch});
  }
  return result;
}

finding judge_descriptors(const machine_facts& x, const wishes& wanted) {
  const std::string check = "open files";
  if (!x.descriptors)
    return {check, health::ok, "as many as wanted"};
  const uint64_t needed = descriptors_base + descriptors_per_node * wanted.node_count;
  const auto what = "at most " + std::to_string(*x.descriptors);
  if (*x.descriptors >= needed)
    return {check, health::ok, what};
  const auto hint = "raise the limit: 'ulimit -n 4096', or LimitNOFILE= of a systemd unit";
  return {check, health::fail, what + ", and " + std::to_string(needed) + " may be needed", hint,
          failure_code::io_error};
}

finding judge_clock(const machine_facts& x) {
  const std::string check = "clock";
  if (x.clock_goes_back)
    return {check, health::fail, "the monotonic clock goes back",
            "no deadline can be kept here: see the clock source of this (virtual) machine",
            failure_code::internal};
  if (x.clock_step_ns > clock_step_ns_max)
    return {check, health::warn,
            "monotonic, in steps of " + rounded(static_cast<double>(x.clock_step_ns) / 1e6) + " ms",
            "deadlines are kept no better than this"};
  return {check, health::ok,
          "monotonic; the time of day need not be right for anything but "
          "certificates"};
}

finding judge_folder(const std::string& check, const folder_facts& x) {
  if (!x.is_writable)
    return {check, health::fail, x.nearest + " cannot be written",
            "change its permissions, or name another folder than " + x.path,
            failure_code::cannot_create};
  const auto what = x.path + ", " + bytes_text(x.free_bytes) + " free";
  if (x.free_bytes < free_bytes_min)
    return {check, health::fail, what, "make room, or name a folder on another disk",
            failure_code::io_error};
  if (x.free_bytes < free_bytes_low)
    return {check, health::warn, what,
            "a checkpoint takes 4 bytes a parameter, and as much for each value of the optimizer's "
            "state; three exist for a moment"};
  return {check, health::ok, what};
}

finding judge_port(const cluster_node& node, port_state state) {
  const auto check = "node " + node.name;
  const auto& listen = node.listen.empty() ? node.address : node.listen;
  switch (state) {
  case port_state::free:
    return {check, health::ok, listen + " is free"};
  case port_state::in_use:
    return {check, health::fail, listen + " is in use",
            "if this run is going on all is well ('troupe status'); else end the program that "
            "uses the port, or choose another",
            failure_code::cannot_create};
  case port_state::forbidden:
    return {check, health::fail, listen + " may not be used by this user",
            "choose a port above 1023", failure_code::no_permission};
  case port_state::elsewhere:
    return {check, health::ok, node.address + " is another machine's: run the doctor there, too"};
  case port_state::unknown_host:
    return {check, health::fail, "the host of " + node.address + " is unknown here",
            "check the name, or the name server; all nodes have to find each other",
            failure_code::missing_input};
  }
  return {check, health::ok, {}};
}

finding judge_certificate(const std::string& check, const certificate_file_facts& x) {
  if (!x.is_there)
    return {check, health::fail, x.file + " cannot be read", "see [tls] of the cluster file",
            failure_code::missing_input};
  if (!x.is_certificate)
    return {check, health::fail, x.file + " is no certificate in PEM form",
            "it has to begin with -----BEGIN CERTIFICATE-----", failure_code::bad_data};
  if (x.starts_in_seconds > 0)
    return {check, health::fail,
            x.file + " is valid in " + counted(x.starts_in_seconds / day_seconds + 1, "day") +
              " only",
            "see whether the time of day is right here", failure_code::no_permission};
  if (x.ends_in_seconds <= 0)
    return {check, health::fail, x.file + " has expired", "have a new one signed",
            failure_code::no_permission};
  const int64_t days = x.ends_in_seconds / day_seconds;
  const auto what = x.file + ", valid for " + counted(days, "more day");
  if (days < certificate_days_low)
    return {check, health::warn, what, "have a new one signed in time"};
  return {check, health::ok, what};
}

finding judge_key(const std::string& check, const key_facts& x) {
  if (!x.is_readable)
    return {check, health::fail, x.file + " cannot be read", "see [tls] of the cluster file",
            failure_code::missing_input};
  if (x.is_open_to_others)
    return {check, health::warn, x.file + " can be read by others", "chmod 600 " + x.file};
  return {check, health::ok, x.file};
}

findings judge_plan(const planned_run& x) {
  findings result;
  for (const auto& one : x.processes)
    if (!one.is_idle())
      result.push_back(
        {x.processes.size() == 1 ? "memory" : "memory of " + one.name, health::ok,
         need_text(one.memory) + (one.limit ? ", of " + bytes_text(*one.limit) : "")});
  if (!x.replicas)
    return result;
  const auto& shape = x.replicas->shape;
  finding split{"replicas", health::ok,
                fmt::format("data {}, tensor {}, pipeline {}; a stage waits for {:.0f} % of a step",
                            shape.data, shape.tensor, shape.pipeline, 100 * x.replicas->bubble)};
  for (const auto& warning : x.replicas->warnings) {
    split.verdict = health::warn;
    split.hint += (split.hint.empty() ? "" : "; ") + warning;
  }
  result.push_back(split);
  return result;
}

finding judge_unplanned(const failure& error) {
  const auto where = error.where().empty() ? "" : error.where() + ": ";
  return {"training", health::fail, where + error.reason(), error.hint(), error.code()};
}

const finding* first_failed(const findings& all) {
  const auto found = std::ranges::find(all, health::fail, &finding::verdict);
  return found == all.end() ? nullptr : &*found;
}

std::string doctor_report(const findings& all) {
  size_t columns = 0;
  for (const auto& one : all)
    columns = std::max(columns, one.check.size());
  std::string result;
  for (const auto& one : all) {
    result += padded(std::string{name_of(one.verdict)}, 4) + "  " + padded(one.check, columns) +
              "  " + one.what + '\n';
    if (!one.hint.empty())
      result += "      " + std::string(columns, ' ') + "  hint: " + one.hint + '\n';
  }
  return result;
}

std::string doctor_json(const findings& all) {
  json checks = json::array();
  for (const auto& one : all)
    checks.push_back(object_of(one));
  json result{{"verdict", name_of(worst_of(all))}, {"checks", std::move(checks)}};
  if (const auto* failed = first_failed(all))
    result["error"] = {{"code", name_of(failed->code)},
                       {"what", failed->what},
                       {"where", failed->check},
                       {"hint", failed->hint}};
  return one_line(result);
}

} // namespace troupe
