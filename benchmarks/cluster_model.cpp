// A step's exchange in clusters larger than there are machines: the real actors of every process, in virtual
// time, on machines with a processor, an interface and a switch between them (tests/simulation/network.hpp).
//
//   cluster_model [--work mlp|empty] [--processes 2,4,8] [--on CORES] [--latency US] [--gbits G]
//                 [--message US] [--byte NS] [--hidden UNITS] [--steps N] [--owners N] [--exchange bf16]
//
// Prints for each number of processes what a step takes when computing takes no time, what of the processors and of
// the wires it uses, and what ring and tree all-reduce would take by the usual formulas with the same latency,
// bandwidth and processor. --on: all machines share so many processors, as on one computer, to hold the model
// against what is measured there. --message and --byte: processor time at each end of a message. --owners: so many processes own a part of the parameters.

#include "actors/run/job_data.hpp"
#include "coordinators/job/resolve.hpp"
#include "tests/simulation/cluster.hpp"
#include "tests/simulation/world.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::simulation;
using namespace std::chrono_literals;

struct request {
  std::string work = "mlp";
  std::vector<size_t> process_counts{2, 4, 8, 16, 32, 64};
  size_t cores = 0; ///< 0: each process has its own
  interface_options interfaces;
  size_t hidden = 512;
  uint64_t steps = 4;
  size_t owners = SIZE_MAX;
  number_format exchange = number_format::float32;
};

double number_in(const std::string& text) {
  double value = -1;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size() || !(value >= 0))
    throw std::runtime_error("\"" + text + "\" is no number >= 0");
  return value;
}

duration microseconds_in(const std::string& text) {
  return std::chrono::duration_cast<duration>(
    std::chrono::duration<double, std::micro>{number_in(text)});
}

std::vector<size_t> counts_in(const std::string& text) {
  std::vector<size_t> result;
  for (size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    result.push_back(static_cast<size_t>(number_in(text.substr(begin, end - begin))));
    if (result.back() < 2)
      throw std::runtime_error("a cluster has two processes or more");
    begin = end + 1;
  }
  return result;
}

request read(const std::vector<std::string>& words) {
  request x;
  for (size_t i = 0; i < words.size(); i += 2) {
    const auto& key = words[i];
    if (i + 1 == words.size())
      throw std::runtime_error(key + " lacks a value");
    const auto& value = words[i + 1];
    if (key == "--work" && (value == "mlp" || value == "empty"))
      x.work = value;
    else if (key == "--processes")
      x.process_counts = counts_in(value);
    else if (key == "--on")
      x.cores = static_cast<size_t>(number_in(value));
    else if (key == "--latency")
      x.interfaces.latency = microseconds_in(value);
    else if (key == "--gbits")
      x.interfaces.bytes_per_second = number_in(value) * 1e9 / 8;
    else if (key == "--message")
      x.interfaces.each_message = microseconds_in(value);
    else if (key == "--byte")
      x.interfaces.seconds_a_byte = number_in(value) * 1e-9;
    else if (key == "--hidden")
      x.hidden = static_cast<size_t>(number_in(value));
    else if (key == "--exchange" && value == "bf16")
      x.exchange = number_format::bf16;
    else if (key == "--owners")
      x.owners = std::max<size_t>(1, static_cast<size_t>(number_in(value)));
    else if (key == "--steps")
      x.steps = static_cast<uint64_t>(number_in(value)) + 1;
    else
      throw std::runtime_error("unknown: " + key + " " + value);
  }
  return x;
}

job job_of(const request& x, size_t count) {
  job result;
  result.data.synthetic =
    x.work == "empty" ? synthetic_kind::regression : synthetic_kind::classification;
  result.data.rows = 2 * count;
  result.data.features = x.work == "empty" ? 1 : 784;
  result.data.test_fraction = 0;
  if (x.work == "empty")
    result.model.kind = model_kind::linear_regression;
  else {
    result.data.classes = 10;
    result.model.hidden = {x.hidden, x.hidden};
  }
  result.optimizer.learning_rate = 1e-4;
  result.training.batch_size = count;
  result.training.exchange = x.exchange;
  result.training.slices = count;
  result.training.replicas = 1;
  result.training.epochs = 1'000'000;
  result.training.steps = x.steps + 1;
  result.training.evaluate_every = 0;
  result.training.history_every = 1000;
  result.checkpoint.every_steps = 0;
  return result;
}

struct figures {
  duration start{}; ///< from the processes' start to the first version that travels
  duration step{};
  duration processor{}; ///< a process and step
  double messages = 0;  ///< likewise
  double bytes = 0;     ///< of pieces, likewise
  double control = 0;   ///< bytes of all else, a process and second
  size_t parameters = 0;
};

figures measure(caf::actor_system& system, const request& x, size_t count) {
  const auto prepared = prepare(job_of(x, count));
  world here{system, 1};
  cluster_options options;
  for (size_t i = 0; i < count; ++i)
    options.machines.push_back({"n" + std::to_string(i), 1, i < x.owners ? size_t{1} : 0});
  options.wires.interfaces = x.interfaces;
  cluster all{here, prepared, options};
  for (machine_id i = 0; x.cores > 0 && i <= count; ++i) // the director is beside the first
    here.share_processor(i, i == 0 ? 0 : (i - 1) % x.cores);
  if (x.cores == 0)
    here.share_processor(cluster::director_machine, cluster::machine_of(0));
  all.boot_director();
  const auto reach = [&](uint64_t version) {
    if (here.run([&] { return all.version() >= version || all.finished(); }, here.now() + 1h) !=
          world::outcome::done ||
        all.version() < version)
      throw std::runtime_error("the run of " + std::to_string(count) + " comes to no version " +
                               std::to_string(version));
  };
  reach(1);
  figures result;
  result.start = here.elapsed();
  const auto processor = here.processor_time();
  const auto carried = all.wires().carried_count();
  const auto pieces = all.wires().bytes_of_pieces();
  const auto others = all.wires().bytes_of_others();
  for (uint64_t version = 2; version <= x.steps; ++version)
    reach(version);
  const auto steps = static_cast<double>(x.steps - 1);
  const auto n = static_cast<double>(count);
  const auto passed = here.elapsed() - result.start;
  const auto each = [&](size_t before, size_t now) {
    return static_cast<double>(now - before) / n / steps;
  };
  result.step = passed / (x.steps - 1);
  result.processor = (here.processor_time() - processor) / (x.steps - 1) / count;
  result.messages = each(carried, all.wires().carried_count());
  result.bytes = each(pieces, all.wires().bytes_of_pieces());
  result.control = each(others, all.wires().bytes_of_others()) /
                   std::chrono::duration<double>{result.step}.count();
  result.parameters = make_model(prepared.resolved, shape_of(*prepared.data))->layout().size();
  all.shut_down();
  return result;
}

/// Rounds of a latency and the processor's work at both ends, and bytes through the interface and both processors.
double all_reduce_us(const interface_options& x, double rounds, double bytes) {
  const auto us = [](duration d) { return std::chrono::duration<double, std::micro>{d}.count(); };
  return rounds * (us(x.latency) + 2 * us(x.each_message)) +
         1e6 * bytes * (1 / x.bytes_per_second + 2 * x.seconds_a_byte);
}

void print(const request& x, size_t count, const figures& found) {
  const auto us = [](duration d) { return std::chrono::duration<double, std::micro>{d}.count(); };
  const auto n = static_cast<double>(count);
  const auto bytes = 4.0 * static_cast<double>(found.parameters);
  const auto both_ways = 2 * bytes * (n - 1) / n;
  std::printf("%9zu %9.2f %11.0f %10.0f %9.1f %9.3f %12.1f %11.0f %11.0f\n", count,
              us(found.start) / 1e6, us(found.step), us(found.processor), found.messages,
              found.bytes / 1e6, found.control / 1e3,
              all_reduce_us(x.interfaces, 2 * (n - 1), both_ways),
              all_reduce_us(x.interfaces, 2 * std::ceil(std::log2(n)), 2 * bytes));
  std::fflush(stdout);
}

} // namespace

int main(int count, char** words) {
  testing_system system;
  try {
    const auto x = read({words + 1, words + count});
    std::printf("processes  start, s    step, us  processor  messages        MB control kB/s "
                "   ring, us    tree, us\n");
    for (const auto each : x.process_counts)
      print(x, each, measure(system.get(), x, each));
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "cluster_model: %s\n", problem.what());
    return 1;
  }
  return 0;
}
