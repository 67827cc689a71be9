#include "app/commands/commands.hpp"
#include "app/predict/model_rows.hpp"
#include "app/predict/run_rows.hpp"
#include "app/run/training_run.hpp"
#include "app/terminal/figures_text.hpp"
#include "app/terminal/output.hpp"
#include "data/table/dataset.hpp"
#include "data/text/failure.hpp"
#include "data/training_rows/batch_reader.hpp"
#include "models/base/names.hpp"
#include "models/math/tree_accumulator.hpp"
#include "models/metrics/class_metrics.hpp"
#include "models/metrics/prediction_sums.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace troupe {

namespace {

using json = nlohmann::ordered_json;

/// More classes than this make a matrix too large for a screen.
constexpr size_t matrix_classes_max = 20;

template <class Metric>
struct summed_metric {
  Metric rule;
  std::vector<double> sums = std::vector<double>(rule.sum_count());

  void add(const judged_rows& rows) { rule.add(rows, sums); }
  std::optional<double> value() const { return rule.value(sums); }
};

/// Of probabilities of classes.
struct class_judgement {
  explicit class_judgement(size_t class_count)
    : auc{auc_metric{class_count}},
      precision{average_precision_metric{class_count}},
      brier{brier_metric{class_count}},
      calibration{calibration_metric{class_count}} {}

  summed_metric<auc_metric> auc;
  summed_metric<average_precision_metric> precision;
  summed_metric<brier_metric> brier;
  summed_metric<calibration_metric> calibration;
};

/// What is collected while the file is read.
struct judgement {
  std::optional<confusion_matrix> matrix; ///< of a classification
  std::optional<class_judgement> scores;  ///< likewise, of its probabilities
  tree_accumulator<regression_sums> regression;
  tree_accumulator<batch_sums> losses;
  uint64_t row_count = 0;
};

void judge_labels(const saved_model& model, const std::vector<float>& predictions,
                  std::span<const int32_t> labels, judgement& out) {
  const auto columns = model.prediction_count();
  for (size_t i = 0; i < labels.size(); ++i)
    out.matrix->add(static_cast<size_t>(labels[i]),
                    model.decide(std::span{predictions}.subspan(i * columns, columns)));
  if (!out.scores)
    return;
  const judged_rows rows{labels.size(), predictions, labels, {}};
  out.scores->auc.add(rows);
  out.scores->precision.add(rows);
  out.scores->brier.add(rows);
  out.scores->calibration.add(rows);
}

/// Rows are judged part by part, each of `model_rows_part` rows but the last.
class judge {
public:
  explicit judge(const saved_model& model) : model_(model), predict_(model) {
    if (model.is_classification())
      result_.matrix.emplace(model.classes.size());
    const auto loss = model.network->loss();
    const bool has_margins = gives_margins(loss);
    if (model.is_classification() && model.classes.size() > 1 && !has_margins)
      result_.scores.emplace(model.classes.size());
  }

  void add(const batch& rows) {
    predictions_.resize(rows.row_count * model_.prediction_count());
    predict_.predict(rows, predictions_);
    unfit_count_ += unfit_rows(predictions_, model_.prediction_count());
    if (model_.is_classification())
      judge_labels(model_, predictions_, rows.labels, result_);
    else
      result_.regression.push(compare(predictions_, rows.targets, model_.target_names.size()));
    result_.losses.push(predict_.evaluate(rows));
    result_.row_count += rows.row_count;
  }

  judgement result() && {
    warn_of_unfit(unfit_count_, model_);
    return std::move(result_);
  }

private:
  const saved_model& model_;
  predictor predict_;
  std::vector<float> predictions_;
  uint64_t unfit_count_ = 0;
  judgement result_;
};

judgement judge_file(const saved_model& model, const data_arguments& data) {
  auto rows = open_rows(model, data, target_wish::needed);
  const class_finder classes{model.classes};
  judge out{model};
  std::vector<float> targets;
  std::vector<int32_t> labels;
  for (table_chunk part; rows.next(part, model_rows_part);) {
    if (model.is_classification())
      labels = labels_of(part, classes, model, *rows.reader);
    else
      targets = targets_of(part, *rows.reader, model.network->loss_with_constants());
    auto judged = part.rows();
    judged.labels = labels;
    judged.targets = targets;
    out.add(judged);
  }
  rows.warn();
  return std::move(out).result();
}

judgement judge_dataset(const saved_model& model, const dataset& rows) {
  judge out{model};
  const auto all = batch_of_rows(rows, 0, rows.row_count);
  for (size_t begin = 0; begin < rows.row_count; begin += model_rows_part)
    out.add(part_of(all, begin, std::min(model_rows_part, rows.row_count - begin)));
  return std::move(out).result();
}

json number(const std::optional<double>& value) {
  return value ? json(*value) : json(nullptr);
}

json scores_object(const class_scores& scores) {
  return {{"precision", scores.precision}, {"recall", scores.recall}, {"f1", scores.f1}};
}

void add_classes(const saved_model& model, const confusion_matrix& matrix, json& out) {
  out["accuracy"] = number(matrix.accuracy());
  out["macro"] = scores_object(matrix.macro());
  out["classes"] = json::array();
  out["confusion_matrix"] = json::array();
  for (size_t i = 0; i < matrix.class_count(); ++i) {
    json one{{"class", model.classes[i]}, {"rows", matrix.actual_count(i)}};
    one.update(scores_object(matrix.scores(i)));
    out["classes"].push_back(one);
    auto row = json::array();
    for (size_t j = 0; j < matrix.class_count(); ++j)
      row.push_back(matrix.count(i, j));
    out["confusion_matrix"].push_back(row);
  }
}

json bins_of(const summed_metric<calibration_metric>& calibration) {
  auto result = json::array();
  const auto bins = calibration.rule.bins(calibration.sums);
  for (size_t i = 0; i < bins.size(); ++i)
    if (const auto& x = bins[i]; x.row_count > 0)
      result.push_back({{"from", static_cast<double>(i) / static_cast<double>(bins.size())},
                        {"to", static_cast<double>(i + 1) / static_cast<double>(bins.size())},
                        {"rows", static_cast<uint64_t>(x.row_count)},
                        {"confidence", x.confidence},
                        {"accuracy", x.accuracy}});
  return result;
}

/// Adds nothing where a model gives no probabilities.
void add_scores(const std::optional<class_judgement>& scores, json& out) {
  const auto whole = scores ? scores->auc.rule.macro(scores->auc.sums) : std::nullopt;
  out["auc"] = whole ? json(whole->value) : json(nullptr);
  out["auc_error_max"] = whole ? json(whole->error_max) : json(nullptr);
  out["average_precision"] = number(scores ? scores->precision.value() : std::nullopt);
  out["brier"] = number(scores ? scores->brier.value() : std::nullopt);
  out["calibration_error"] = number(scores ? scores->calibration.value() : std::nullopt);
  out["calibration"] = scores ? bins_of(scores->calibration) : json::array();
  for (size_t i = 0; i < out["classes"].size(); ++i) {
    const auto one = scores ? scores->auc.rule.of_class(scores->auc.sums, i) : std::nullopt;
    out["classes"][i]["auc"] = one ? json(one->value) : json(nullptr);
  }
}

json object_of(const saved_model& model, const std::string& file, const judgement& result) {
  const auto sums = result.losses.total();
  json object{{"model_file", model.path},
              {"data_file", file},
              {"rows", result.row_count},
              {"loss", sums.loss_sum / static_cast<double>(sums.sample_count)}};
  if (result.matrix) {
    add_classes(model, *result.matrix, object);
    add_scores(result.scores, object);
    if (model.threshold) {
      object["threshold"] = model.threshold->probability;
      object["threshold_class"] = model.classes[model.threshold->label];
    }
    return object;
  }
  const auto regression = result.regression.total();
  object["mean_squared_error"] = number(regression.mean_squared_error());
  object["mean_absolute_error"] = number(regression.mean_absolute_error());
  object["r2"] = number(regression.r2());
  return object;
}

std::string class_table(const json& object) {
  text_table table{1, {"class", "precision", "recall", "f1", "rows"}};
  for (const auto& one : object["classes"])
    table.add({class_text(one["class"]), figure_text(one["precision"]), figure_text(one["recall"]),
               figure_text(one["f1"]), one["rows"].dump()});
  return table.text();
}

std::string matrix_table(const json& object) {
  std::vector<std::string> names{"actual \\ predicted"};
  for (const auto& one : object["classes"])
    names.push_back(class_text(one["class"]));
  if (names.size() > matrix_classes_max + 1)
    return "the confusion matrix of " + std::to_string(names.size() - 1) +
           " classes is printed with --json\n";
  text_table table{1, names};
  for (size_t i = 0; i + 1 < names.size(); ++i) {
    std::vector<std::string> cells{names[i + 1]};
    for (const auto& count : object["confusion_matrix"][i])
      cells.push_back(count.dump());
    table.add(std::move(cells));
  }
  return table.text();
}

std::string report_of(const json& object) {
  text_table figures{1, {}};
  const auto add = [&](const std::string& name, const json& value) {
    figures.add({name, figure_text(value)});
  };
  add("rows", object["rows"]);
  add("loss", object["loss"]);
  if (!object.contains("classes")) {
    add("mean squared error", object["mean_squared_error"]);
    add("mean absolute error", object["mean_absolute_error"]);
    add("r2", object["r2"]);
    return figures.text();
  }
  add("accuracy", object["accuracy"]);
  add("macro precision", object["macro"]["precision"]);
  add("macro recall", object["macro"]["recall"]);
  add("macro f1", object["macro"]["f1"]);
  if (!object["auc"].is_null())
    add("auc", object["auc"]);
  if (!object["average_precision"].is_null())
    add("average precision", object["average_precision"]);
  if (object.contains("threshold"))
    add("threshold of " + class_text(object["threshold_class"]), object["threshold"]);
  if (!object["brier"].is_null()) {
    add("brier score", object["brier"]);
    add("calibration error", object["calibration_error"]);
  }
  return figures.text() + '\n' + class_table(object) + '\n' + matrix_table(object);
}

// By the rows that the run of this model kept aside.
json judge_run(const saved_model& model, const evaluate_arguments& arguments) {
  refuse_data_options(arguments.data);
  const auto folder = run_folder_of(arguments.model_file);
  const auto part = part_option(arguments.rows);
  const auto [rows, file] = rows_of_run(folder, part);
  if (rows.feature_count != model.network->feature_count() || rows.classes != model.classes)
    throw failure(failure_code::mismatch, "the model is not that of the run", folder,
                  "name a data file to evaluate on");
  print_message("troupe: the " + std::to_string(rows.row_count) + " rows that " + folder +
                (part == row_part::train ? " was trained on\n" : " kept aside\n"));
  auto object = object_of(model, file, judge_dataset(model, rows));
  object["part"] = name_of(part);
  return object;
}

json judge_data(const saved_model& model, const evaluate_arguments& arguments) {
  if (!arguments.rows.empty())
    throw failure(failure_code::usage, "--rows are those of the run, and a data file is named",
                  "--rows", "leave one of the two out");
  return object_of(model, arguments.data.file, judge_file(model, arguments.data));
}

} // namespace

int evaluate_command(const evaluate_arguments& given) {
  return with_failure_object(given.json, [&] {
    auto arguments = given;
    const auto model = read_model(model_path_of(arguments.model_file));
    if (arguments.data.file.empty() && arguments.rows.empty())
      arguments.rows = name_of(row_part::test);
    const auto object =
      arguments.data.file.empty() ? judge_run(model, arguments) : judge_data(model, arguments);
    print_result(arguments.json ? one_line(object) : report_of(object));
    return 0;
  });
}

} // namespace troupe
