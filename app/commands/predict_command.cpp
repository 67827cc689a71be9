#include "troupe/app/commands/commands.hpp"
#include "troupe/app/predict/generated_text.hpp"
#include "troupe/app/predict/model_rows.hpp"
#include "troupe/app/predict/prediction_writer.hpp"
#include "troupe/app/terminal/figures_text.hpp"
#include "troupe/app/terminal/output.hpp"

namespace troupe {

namespace {

int generate(const predict_arguments& x) {
  if (!x.data.file.empty() || !x.output_file.empty() || x.probabilities)
    throw failure(failure_code::usage, "--generate reads no rows, and prints characters alone",
                  "--generate", "leave DATA, -o and --probabilities out");
  generate_text(read_model(x.model_file), x.generate,
                [](const std::string& character) { print_result(character); });
  print_result("\n");
  return 0;
}

} // namespace

int predict_command(const predict_arguments& arguments) {
  if (arguments.generate.count > 0)
    return generate(arguments);
  if (arguments.data.file.empty())
    throw failure(failure_code::usage, "no rows are named", {},
                  "name a data file, or let a model of a text write: --generate 100");
  const auto model = read_model(arguments.model_file);
  auto rows = open_rows(model, arguments.data, target_wish::ignored);
  print_message("troupe: " + rows.assumption + '\n');
  prediction_writer out{model, arguments.output_file, arguments.probabilities};
  if (out.numbers_classes())
    print_message("troupe: " + arguments.output_file +
                  ": classes are not whole numbers and are numbered from 0, as 'troupe inspect' "
                  "lists them\n");
  predictor predict{model};
  std::vector<float> predictions;
  uint64_t unfit = 0;
  for (table_chunk part; rows.next(part, model_rows_part);) {
    predictions.resize(part.row_count * model.prediction_count());
    predict.predict(part.rows(), predictions);
    out.write(predictions);
    unfit += unfit_rows(predictions, model.prediction_count());
  }
  out.finish();
  rows.warn();
  warn_of_unfit(unfit, model);
  return 0;
}

} // namespace troupe
