// Job files, and single values as --set takes them. No key makes reading one open another file.

#include "app/job/job_file.hpp"
#include "app/job/job_text.hpp"
#include "app/toml/parse_toml.hpp"
#include "coordinators/parallel/parallel_plan.hpp"
#include "tests/fuzz/hostile.hpp"

using namespace troupe;

namespace {

// Whatever a job that is right asks for can be counted: nothing overflows, and what it costs to
// find out does not grow with it.
void expect_countable(const job& x) {
  const data_shape shape{100, 10, 8, 3, wants_classes(x.model).value_or(true), {30, 30, 40}};
  const auto resolved = resolve(x, shape, 4);
  const bool fits = problems_with_data(resolved, shape).empty(); // else there may be no model
  if (!beyond_counting(resolved, shape) && fits) {
    const auto plan = memory_plan_of(resolved, shape, {4, {}});
    fuzz::require(plan.front().memory.sum() < uint64_t{1} << 62, "its memory can be counted");
  }
  const auto count = parameter_count_of(resolved, shape);
  if (count < 1'000'000 && (fits || !resolved.model.own.is_set()))
    fuzz::require(make_model(resolved, shape)->layout().size() == count,
                  "the parameters are counted as the model has them");
  fuzz::require(timeline_of(resolved, shape).last_version() >= 1, "a job has a step");
  identity_text(resolved, "data");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const fuzz::hostile_file file;
  const auto text = fuzz::text_of(bytes, size);
  parse_toml_value(text);
  fuzz::expect_result_or_failure([&] {
    const auto x = load_job(file.holding(text), {}, {});
    const auto again = load_job(file.holding(job_text(x)), {}, {});
    fuzz::require(job_text(again) == job_text(x), "a job survives being written");
    expect_countable(x);
  });
  fuzz::expect_result_or_failure([&] {
    static const fuzz::hostile_file good;
    load_job(good.holding("data.synthetic = \"classification\"\n"), {std::string{text}}, {});
  });
  return 0;
}
