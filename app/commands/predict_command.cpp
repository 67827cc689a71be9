#include "app/commands/commands.hpp"
#include "app/predict/model_rows.hpp"
#include "app/predict/prediction_writer.hpp"
#include "app/terminal/output.hpp"
#include "data/formats/text/vocabulary.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"
#include "data/text/utf8.hpp"
#include "models/base/random.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace troupe {

namespace {

void require_text_model(const saved_model& model) {
  if (!model.reads_text)
    throw failure(failure_code::usage, "the model was not trained on a text", model.path,
                  "characters are written by a model of data.format = \"text\"");
  if (model.network->loss() != loss_kind::categorical_cross_entropy)
    throw failure(failure_code::usage,
                  "the model's loss, " + std::string{name_of(model.network->loss())} +
                    ", gives no probabilities to draw from",
                  model.path, "train it with model.loss = \"categorical-cross-entropy\"");
}

/// The window before the first character that is written.
std::vector<float> window_of(const saved_model& model, std::string_view prompt) {
  const vocabulary known{model.classes};
  const auto none = static_cast<float>(known.size());
  std::vector<float> result(model.network->feature_count(), none);
  while (!prompt.empty()) {
    const auto size = utf8_bytes(prompt);
    const auto character = prompt.substr(0, std::max<size_t>(size, 1));
    const auto number =
      size == 0 ? none : static_cast<float>(known.number_of(code_point_of(character)));
    if (number == none)
      throw failure(failure_code::usage,
                    "the model was trained on no " + shown_text(character) + " of the prompt",
                    "--prompt", "'troupe inspect " + model.path + " --json' lists its characters");
    std::rotate(result.begin(), result.begin() + 1, result.end());
    result.back() = number;
    prompt.remove_prefix(size);
  }
  return result;
}

/// The class in whose share of the unit interval `place` lies.
size_t drawn(std::span<const float> probabilities, double place) {
  double end = 0;
  for (size_t i = 0; i < probabilities.size(); ++i)
    if (end += static_cast<double>(probabilities[i]); place < end)
      return i;
  return likeliest_class(probabilities); // they add up to a little less than 1
}

/// Draws each character from the probabilities that the model gives after those before it, and prints it, in UTF-8, when
/// it is there. Where the window begins before the prompt does, its characters are none: the code behind the last one.
///
/// Throws failure(usage) when the model was not trained on a text, gives no probabilities, or the prompt has a
/// character that it does not know.
void generate_text(const saved_model& model, const generation_options& options) {
  require_text_model(model);
  auto window = window_of(model, options.prompt);
  predictor predict{model};
  std::vector<float> probabilities(model.prediction_count());
  word_reader words{random_sequence{options.seed, random_purpose::generated_text, 0}};
  for (size_t i = 0; i < options.count; ++i) {
    predict.predict(std::span<const float>{window}, probabilities);
    const auto next =
      options.is_greedy ? likeliest_class(probabilities) : drawn(probabilities, words.unit());
    print_result(model.classes[next]);
    std::rotate(window.begin(), window.begin() + 1, window.end());
    window.back() = static_cast<float>(next);
  }
}

int generate(const predict_arguments& x) {
  if (!x.data.file.empty() || !x.output_file.empty() || x.probabilities)
    throw failure(failure_code::usage, "--generate reads no rows, and prints characters alone",
                  "--generate", "leave DATA, -o and --probabilities out");
  generate_text(read_model(x.model_file), x.generate);
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
