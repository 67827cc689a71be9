// What a parameter server tells the director: the metrics of figures, and why training cannot go on.

#include "actors/orders/parameter_server.hpp"

#include "actors/base/version_hashing.hpp"

#include <utility>

namespace troupe {

void server_state::report_odd_start(const shard_start& start) {
  stop_here("a state to begin with of " + std::to_string(start.slots.size()) + " vectors and " +
              std::to_string(start.numbers.numbers.size()) +
              " numbers, which is none of this job's",
            step_problem::malformed);
}

void server_state::stop_here(const std::string& what, step_problem problem) {
  records_.model.fail();
  tell_director(what, problem);
}

void server_state::tell_director(const std::string& what, step_problem problem) {
  not_finite_report report;
  report.term = view_.term;
  report.step = records_.model.version();
  report.what = what;
  report.problem = problem;
  self_->send(view_.director, std::move(report));
}

void server_state::report(const main_model::report_mark& mark, const std::string& notice) {
  auto& model = records_.model;
  model.on_reported(now());
  if (mark.is_row)
    self_->send(view_.director, whole_hash(view_.term, model.version(), model.parameters()));
  self_->send(view_.director,
              training_report{view_.term, model.version(), model.epoch_sums(), mark.is_row,
                              mark.is_mark, model.seconds(now()), notice,
                              mark.is_row ? std::exchange(records_.rounds, {})
                                          : std::vector<round_record>{}});
}

trainer_figures server_state::on_figures() const {
  const auto& roster = records_.roster;
  const bool hides = options_.policy->hides_work();
  return {roster.statistics().barrier_count(),
          hides ? std::vector<named_statistics>{} : roster.figures(), left_out_, records_.clients};
}

} // namespace troupe
