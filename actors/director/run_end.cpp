#include "actors/director/run_end.hpp"

namespace troupe {

namespace {

std::string problem_text(const director_rule& rule) {
  const auto& diverged = rule.diverged();
  if (!diverged)
    return {};
  const auto step = std::to_string(diverged->step);
  const auto& best = rule.best();
  return "training diverged: at step " + step + " " + diverged->what +
         " was not finite and was not applied; the parameters of version " +
         (best ? std::to_string(best->version) + ", the best one," : step) + " are kept";
}

} // namespace

void run_end::begin_term() {
  is_named_ = false;
  parameters_.reset();
}

void run_end::name(const finish_at& decision, const director_rule& rule, double seconds) {
  is_named_ = true;
  parameters_.reset();
  result_.version = decision.version;
  result_.is_best = rule.best().has_value();
  result_.reason = static_cast<uint8_t>(decision.reason);
  result_.end_version = rule.end_version();
  result_.seconds = seconds;
  result_.problem = problem_text(rule);
}

void run_end::end_at(const checkpoint& last, const std::optional<best_version>& kept) {
  result_.end_version = last.version;
  result_.version = kept ? kept->version : last.version;
  result_.is_best = kept.has_value();
  result_.reason = static_cast<uint8_t>(stop_reason::interrupt);
  result_.seconds = last.seconds;
  parameters_ = kept ? last.best_parameters : last.parameters;
}

void run_end::fail(const failure& why) {
  result_.failed = true;
  result_.failure = static_cast<uint8_t>(why.code());
  result_.problem = why.reason();
  result_.where = why.where();
  result_.hint = why.hint();
  parameters_.reset();
}

bool run_end::is_of(const std::optional<best_version>& kept) const {
  return kept && kept->version == result_.version;
}

} // namespace troupe
