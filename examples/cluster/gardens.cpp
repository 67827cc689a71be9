// Three gardens learn one model of their flowers. Each has measured one species, and sends no rows but what the file says:
// gradients (gardens.toml), or models that are averaged (averaged_gardens.toml). Their coordinator is an actor that they
// join, in one process or in three, over TLS where the file has [tls]. Each may be killed and started again.
//
//   example_gardens FILE.toml                   all in this process
//   example_gardens FILE.toml home              three processes: "home", the director, has the coordinator
//   example_gardens FILE.toml east              and a garden, "east" and "west" a garden each
//   example_gardens FILE.toml west
//
// The process with the coordinator says what they have learned. It prints:
//
//   main model: over 95 % of all flowers right: yes

#include <troupe/coordinator_actors.hpp>
#include <troupe/job_files.hpp>
#include <troupe/node.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>

#include <cstdio>
#include <filesystem>
#include <stdexcept>

namespace {

using namespace troupe;

/// The flowers of one species.
std::shared_ptr<const row_source> garden_of(const dataset& all, size_t species) {
  dataset own;
  own.feature_count = all.feature_count;
  own.classes = all.classes;
  for (size_t i = 0; i < all.row_count; ++i)
    if (all.labels[i] == static_cast<int32_t>(species)) {
      own.features.insert(own.features.end(), all.row(i).begin(), all.row(i).end());
      own.labels.push_back(all.labels[i]);
    }
  own.row_count = own.labels.size();
  return std::make_shared<rows_in_memory>(std::make_shared<dataset>(std::move(own)));
}

std::shared_ptr<checkpoint_store> store_in(const std::string& folder) {
  std::filesystem::create_directories(folder);
  return std::make_shared<checkpoint_store>(posix_disk(), folder);
}

/// Waits until the main model is good, or has moved 2,000 times.
bool is_learned(caf::scoped_actor& self, const coordinator_actor& main, const model& network,
                const dataset& flowers) {
  const auto all = batch_of_rows(flowers, 0, flowers.row_count);
  workspace memory;
  parameter_span newest;
  size_t right = 0;
  self->monitor(main);
  self->send(main, atom::watch_v, caf::actor_cast<model_listener_actor>(self));
  while (right * 100 <= 95 * flowers.row_count && newest.version < 2'000) {
    self->receive(
      [&](const parameter_span& news) { newest = news; },
      [](const caf::down_msg&) { throw std::runtime_error{"the coordinator has ended"}; });
    right = network.evaluate(newest.values.values(), all, memory).correct_count;
  }
  return right * 100 > 95 * flowers.row_count;
}

void run(loaded_cluster file, const std::string& own) {
  const auto& nodes = file.plan.nodes;
  const bool is_alone = own.empty();
  const bool has_main = is_alone || own == nodes[director_of(file.plan)].name;
  caf::actor_system_config config;
  configure_node(config, file.plan.timeouts);
  caf::actor_system system{config};
  caf::scoped_actor self{system};
  const auto data = load_data(file.job.value);
  const auto job = resolve(file.job.value, shape_of(*data), 1);
  const std::shared_ptr<const model> network = make_model(job, shape_of(*data));
  std::optional<networked_names> here;
  if (!is_alone)
    here.emplace(system,
                 networked_names_options{file.plan, own, tls_of(file, choose_node(file, own, ""))});
  coordinator_actor main;
  if (has_main) {
    auto options = coordinator_of_job(job, *network);
    if (here)
      options.store = store_in(job.checkpoint.directory);
    main = system.spawn(coordinate, options);
  } else {
    main = find_coordinator(system, *here, "main");
  }
  if (has_main && here)
    here->publish("main", caf::actor_cast<caf::actor>(main));
  std::vector<member_replica_actor> gardens;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (is_alone || nodes[i].name == own)
      gardens.push_back(system.spawn(
        replicate, replica_of_job(job, main, nodes[i].name, network, garden_of(data->train, i))));
  if (has_main) {
    std::printf("main model: over 95 %% of all flowers right: %s\n",
                is_learned(self, main, *network, data->train) ? "yes" : "no");
    self
      ->request(main, caf::infinite, atom::stop_v) // until all gardens have heard it
      .receive([](uint64_t) {}, [](const caf::error&) {});
  }
  for (const auto& one : gardens)
    self->wait_for(one);
  caf::anon_send_exit(main, caf::exit_reason::user_shutdown);
}

} // namespace

int main(int count, char** words) try {
  if (count != 2 && count != 3)
    return std::fprintf(stderr, "usage: %s FILE.toml [NAME]\n", words[0]), 2;
  run(load_cluster(words[1]), count == 3 ? words[2] : "");
} catch (const std::exception& problem) {
  return std::fprintf(stderr, "%s\n", problem.what()), 1;
}
