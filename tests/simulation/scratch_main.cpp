#include "troupe/tests/simulation/cluster.hpp"
#include "troupe/tests/simulation/testing_system.hpp"
#include <cstdlib>
#include <iostream>
using namespace troupe;
using namespace troupe::simulation;
int main(int argc, char** argv) {
  testing_system system;
  job x;
  x.name = "t";
  x.seed = 1;
  x.data.synthetic = synthetic_kind::regression;
  x.data.rows = 64;
  x.data.features = 70;
  x.data.targets = 120;
  x.model.kind = model_kind::linear_regression;
  x.training.batch_size = 16;
  x.training.slices = 4;
  x.training.replicas = 2;
  x.training.steps = 20;
  x.training.epochs = 100;
  x.training.evaluate_every = 1;
  x.data.test_fraction = 0.25;
  x.checkpoint.every_steps = 5;
  auto j = prepare(x);
  const bool trace = argc > 1;
  for (int seed = 0; seed < (trace ? 1 : 200); ++seed) {
    world here{system.get(), static_cast<uint64_t>(seed),
               trace ? trace_sink{[](duration t, const std::string& l) {
                 std::cout << t.count() / 1e6 << " " << l << "\n";
               }}
                     : trace_sink{}};
    cluster_options o;
    o.machines = {{"a"}, {"b"}, {"c"}};
    o.disk = std::make_shared<simulated_disk>(1);
    o.disk->make_folder(run_folder);
    cluster c{here, j, o};
    if (auto e = c.boot_director()) {
      std::cout << e->what() << "\n";
      return 1;
    }
    auto out =
      here.run([&] { return c.finished().has_value(); }, here.now() + std::chrono::seconds{60});
    if (seed < 3) {
      std::cout << "outcome " << (int)out << " messages " << here.messages_run() << " at "
                << here.elapsed().count() / 1e9 << " " << c.director_status() << "\n";
      for (auto& w : c.last_words())
        std::cout << w << "\n";
      if (c.finished())
        std::cout << c.finished()->version << " " << c.finished()->problem << " rows "
                  << c.finished()->history.size() << " p0 " << c.pull_parameters().at(0) << "\n";
    }
    c.shut_down();
    if (seed < 3) {
      for (auto& a : here.living_actors())
        std::cout << "alive " << a << "\n";
      std::cout << here.living_timers() << " timers\n";
    }
  }
}
