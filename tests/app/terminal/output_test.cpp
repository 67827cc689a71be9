#include "app/job/job_errors.hpp"
#include "app/terminal/output.hpp"
#include "app/terminal/reports.hpp"
#include "data/records/training_record.hpp"

#include <gtest/gtest.h>

namespace troupe::output_test {
namespace {

TEST(output, error_says_where_what_and_what_to_do) {
  EXPECT_EQ(error_text(failure{failure_code::bad_data, "no number: 'x'", "rows.csv:2:3", "fix it"}),
            "troupe: error: rows.csv:2:3: no number: 'x'\n  hint: fix it\n");
  EXPECT_EQ(error_text(failure{failure_code::internal, "broken"}), "troupe: error: broken\n");
}

TEST(output, every_error_of_a_job_is_printed) {
  const job_errors errors{{{"a:1:1", "first", "do this"}, {"a:2:1", "second", ""}}};
  EXPECT_EQ(error_text(errors), "troupe: error: a:1:1: first\n  hint: do this\n"
                                "troupe: error: a:2:1: second\n");
}

TEST(output, report_leaves_out_what_was_not_measured) {
  training_summary summary;
  summary.epochs = 20;
  summary.steps = 840;
  summary.seconds = 1.5;
  summary.samples_per_second = 12345.6;
  summary.test_accuracy = 0.9625;
  summary.parameters_sha256 = "ab12";
  summary.model_file = "runs/x/model.safetensors";
  summary.stopped_by = "epochs";
  EXPECT_EQ(run_report(summary), "epochs             20\n"
                                 "steps              840\n"
                                 "stopped by         epochs\n"
                                 "seconds            1.500\n"
                                 "samples/s          12346\n"
                                 "test accuracy      0.9625\n"
                                 "parameters sha256  ab12\n"
                                 "model file         runs/x/model.safetensors\n");
}

TEST(output, report_tells_the_best_version_and_its_validation_figures) {
  training_summary summary;
  summary.steps = 420;
  summary.best_version = 420;
  summary.validation_loss = 0.25;
  summary.validation_accuracy = 0.75;
  summary.validation_r2 = 0.5;
  const auto report = run_report(summary);
  for (const auto* line : {"best version       420\n", "val loss           0.25\n",
                           "val accuracy       0.75\n", "val r2             0.5\n"})
    EXPECT_NE(report.find(line), std::string::npos) << line;
}

} // namespace
} // namespace troupe::output_test
