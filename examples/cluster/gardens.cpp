// Three gardens learn one model of their flowers. Each has measured one species, and sends gradients, no rows. Their
// coordinator is an actor that they join, in one process or in three; a garden may be killed and started again.
//
//   example_gardens IRIS.csv                                      all in this process
//   example_gardens IRIS.csv home ADDRESS ADDRESS ADDRESS         three processes, with the same addresses: "home" has the
//   example_gardens IRIS.csv east ADDRESS ADDRESS ADDRESS         coordinator and a garden, "east" and "west" a garden
//   example_gardens IRIS.csv west ADDRESS ADDRESS ADDRESS         each; addresses such as 127.0.0.1:7411
//
// The process with the coordinator says what they have learned. It prints:
//
//   main model: over 95 % of all flowers right: yes

#include <troupe/coordinator_actors.hpp>
#include <troupe/data.hpp>
#include <troupe/kinds.hpp>
#include <troupe/node.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>

#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

const std::vector<std::string> names{"home", "east", "west"};

troupe::coordinator_options options_for(const troupe::model& network) {
  troupe::asynchronous_options rule;
  rule.gradients.optimizer.learning_rate = 0.5;
  rule.consistency.mode =
    troupe::consistency_kind::half_synchronous; // a step is of three gradients ..
  rule.consistency.first_count = names.size();  // .. or of all that are here
  troupe::coordinator_options options;
  options.members.rule = rule;
  options.members.members_min = names.size();
  options.initial = troupe::buffer{network.layout().size()}; // zeros
  return options;
}

/// Rows of one species: the file has 50 of each, one behind the other.
std::shared_ptr<const troupe::row_source> garden_of(const troupe::dataset& all, size_t number) {
  auto own = std::make_shared<troupe::dataset>();
  own->row_count = 50;
  own->feature_count = all.feature_count;
  const auto begin = all.row(50 * number).begin();
  own->features.assign(begin, begin + 50 * static_cast<std::ptrdiff_t>(all.feature_count));
  own->labels.assign(50, static_cast<int32_t>(number));
  own->classes = all.classes;
  return std::make_shared<troupe::rows_in_memory>(own);
}

/// Waits for 1,000 steps, and judges what the gardens have learned.
void judge(caf::scoped_actor& self, const troupe::coordinator_actor& main,
           const troupe::model& network, const troupe::dataset& flowers) {
  troupe::parameter_span model;
  self->send(main, troupe::atom::watch_v, caf::actor_cast<troupe::model_listener_actor>(self));
  self->monitor(main);
  while (model.version < 1'000)
    self->receive(
      [&](const troupe::parameter_span& next) { model = next; },
      [](const caf::down_msg&) { throw std::runtime_error{"the coordinator has ended"}; });
  troupe::workspace memory;
  const auto all = batch_of_rows(flowers, 0, flowers.row_count);
  const auto right = network.evaluate(model.values.values(), all, memory).correct_count;
  std::printf("main model: over 95 %% of all flowers right: %s\n",
              right * 100 > 95 * flowers.row_count ? "yes" : "no");
  self
    ->request(main, caf::infinite, troupe::atom::stop_v) // until all gardens have heard it
    .receive([](uint64_t) {}, [](const caf::error&) {});
}

int run(const std::vector<std::string>& words) {
  if (words.size() != 1 && words.size() != 2 + names.size())
    throw std::invalid_argument{"usage: example_gardens IRIS.csv [NAME ADDRESS ADDRESS ADDRESS]"};
  auto read = to_dataset(troupe::read_csv(words[0]), troupe::target_use::labels);
  const auto flowers = prepare(std::move(read), {.standardize = true}).train;
  troupe::neural_network_options shape; // without hidden layers: softmax regression
  shape.features = flowers.feature_count;
  shape.outputs = flowers.classes.size();
  const auto network = std::make_shared<troupe::neural_network>(shape);
  troupe::cluster_plan plan;
  for (size_t i = 0; i + 1 < words.size() && i < names.size(); ++i)
    plan.nodes.push_back({names[i], words[i + 2], "", false});
  caf::actor_system_config config;
  troupe::configure_node(config, plan.timeouts);
  caf::actor_system system{config};
  caf::scoped_actor self{system};
  std::optional<troupe::networked_names> here;
  if (words.size() > 1)
    here.emplace(system, troupe::networked_names_options{plan, words[1]});
  const bool is_home = !here || words[1] == "home";
  troupe::coordinator_actor main;
  if (is_home)
    main = system.spawn(troupe::coordinate, options_for(*network));
  if (is_home && here)
    here->publish("main", caf::actor_cast<caf::actor>(main));
  else if (here)
    main = find_coordinator(system, *here, "main");
  std::vector<troupe::member_replica_actor> gardens;
  for (size_t i = 0; i < names.size(); ++i)
    if (!here || names[i] == words[1])
      gardens.push_back(
        system.spawn(troupe::replicate,
                     troupe::replica_of_rows{main, names[i], network, garden_of(flowers, i)}));
  if (is_home)
    judge(self, main, *network, flowers);
  for (const auto& one : gardens)
    self->wait_for(one);
  caf::anon_send_exit(main, caf::exit_reason::user_shutdown);
  return 0;
}

} // namespace

int main(int count, char** values) try {
  return run({values + 1, values + count});
} catch (const std::exception& problem) {
  return std::fprintf(stderr, "%s\n", problem.what()), 1;
}
