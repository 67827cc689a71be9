// A model that keeps learning while it is used, and rolls back updates by bad data.
//
//   build/bin/example_online
//
// A machine's temperature follows its load: y = 20 + 5 x, at first. A sensor sends twenty readings
// at a time to a learner, the actor that holds the model. Then the room gets warmer by 3 degrees,
// and the model follows. Twice something goes wrong: the sensor breaks and sends NaN; a technician
// switches it to Fahrenheit. The learner rolls back both updates, with a reason: the second one
// predicts eight trusted readings much worse. It prints:
//
//   batch 150: not-finite
//   batch 250: loss-grew
//   298 of 300 batches were learned
//   at load 2 the model says 33 degrees

#include <troupe/kinds.hpp>
#include <troupe/online.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <stdexcept>

namespace {

constexpr int batch_count = 300, broken = 150, fahrenheit = 250;

float reading(int batch, float load) {
  if (batch == broken)
    return NAN;
  const float celsius = (batch < 100 ? 20.0f : 23.0f) + 5 * load;
  return batch == fahrenheit ? 32 + 1.8f * celsius : celsius;
}

troupe::payload payload_of(const std::vector<float>& values) {
  const troupe::buffer storage{values.size()};
  std::ranges::copy(values, storage.values().begin());
  return {storage, 0, values.size()};
}

troupe::online_batch batch_of(int number) {
  std::vector<float> loads, readings;
  for (int i = 0; i < 20; ++i) {
    loads.push_back(static_cast<float>((7 * i + number) % 20) / 10);
    readings.push_back(reading(number, loads.back()));
  }
  return {payload_of(loads), {}, payload_of(readings)};
}

troupe::online_options line() {
  troupe::neural_network_options shape;
  shape.features = 1;
  shape.outputs = 1;
  shape.loss = troupe::loss_kind::squared;
  troupe::online_options options;
  options.network = std::make_shared<troupe::neural_network>(shape);
  options.parameters = troupe::buffer{2}; // zeros: an untrained model
  options.rule.optimizer.learning_rate = 0.1;
  options.rule.loss_growth_max = 2;
  options.rule.loss_floor = 10; // square degrees: a warmer room is no fault
  options.validation.emplace();
  for (float load = 0; load < 2; load += 0.25f) {
    options.validation->features.push_back(load);
    options.validation->targets.push_back(21.5f + 5 * load);
  }
  return options;
}

void run(caf::scoped_actor& self, const troupe::online_actor& learner) {
  const auto fail = [](const caf::error&) { throw std::runtime_error("the learner is gone"); };
  const auto on_report = [](const troupe::online_report& report) {
    if (report.verdict != troupe::online_verdict::applied)
      std::printf("batch %d: %s\n", static_cast<int>(report.batch), name_of(report.verdict));
  };
  const auto on_model = [](const troupe::parameter_span& model) {
    const auto line = model.values.values();
    std::printf("%d of %d batches were learned\n", static_cast<int>(model.version), batch_count);
    std::printf("at load 2 the model says %.0f degrees\n", 2 * line[0] + line[1]);
  };
  constexpr std::chrono::seconds deadline{10};
  for (int i = 0; i < batch_count; ++i)
    self->request(learner, deadline, batch_of(i)).receive(on_report, fail);
  self->request(learner, deadline, troupe::atom::pull_v).receive(on_model, fail);
}

} // namespace

int main() {
  caf::actor_system_config config;
  troupe::configure(config);
  caf::actor_system system{config};
  caf::scoped_actor self{system};
  run(self, system.spawn(troupe::online, line()));
}
