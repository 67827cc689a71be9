#include "troupe/app/commands.hpp"
#include "troupe/app/figures_text.hpp"
#include "troupe/app/model_rows.hpp"
#include "troupe/app/output.hpp"
#include "troupe/data/failure.hpp"
#include "troupe/models/metrics.hpp"
#include "troupe/models/tree_accumulator.hpp"

#include <nlohmann/json.hpp>

#include <optional>

namespace troupe {

namespace {

using json = nlohmann::ordered_json;

/// More classes than this make a matrix nobody can read on a screen.
constexpr size_t matrix_classes_max = 20;

/// What is collected while the file is read.
struct judgement {
  std::optional<confusion_matrix> matrix; ///< of a classification
  tree_accumulator<regression_sums> regression;
  tree_accumulator<batch_sums> losses;
  uint64_t row_count = 0;
};

void judge_labels(const saved_model& model, const std::vector<float>& predictions,
                  const std::vector<int32_t>& labels, judgement& out) {
  const auto columns = model.prediction_count();
  for (size_t i = 0; i < labels.size(); ++i)
    out.matrix->add(static_cast<size_t>(labels[i]),
                    likeliest_class(std::span{predictions}.subspan(i * columns, columns)));
}

judgement judge(const saved_model& model, model_rows& rows) {
  judgement result;
  if (model.is_classification())
    result.matrix.emplace(model.classes.size());
  const class_finder classes{model.classes};
  predictor predict{model};
  std::vector<float> predictions, targets;
  std::vector<int32_t> labels;
  for (table_chunk part; rows.reader->next(part, model_rows_part);) {
    predictions.resize(part.row_count * model.prediction_count());
    predict.predict(part.features, predictions);
    if (model.is_classification()) {
      labels = labels_of(part, classes, model, *rows.reader);
      judge_labels(model, predictions, labels, result);
    } else {
      targets = targets_of(part, *rows.reader);
      result.regression.push(compare(predictions, targets, model.target_names.size()));
    }
    result.losses.push(predict.evaluate({part.row_count, part.features, labels, targets}));
    result.row_count += part.row_count;
  }
  return result;
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

json object_of(const saved_model& model, const std::string& file, const judgement& result) {
  const auto sums = result.losses.total();
  json object{{"model_file", model.path},
              {"data_file", file},
              {"rows", result.row_count},
              {"loss", sums.loss_sum / static_cast<double>(sums.sample_count)}};
  if (result.matrix) {
    add_classes(model, *result.matrix, object);
    return object;
  }
  const auto regression = result.regression.total();
  object["mean_squared_error"] = number(regression.mean_squared_error());
  object["mean_absolute_error"] = number(regression.mean_absolute_error());
  object["r2"] = number(regression.r2());
  return object;
}

std::string class_table(const json& object) {
  text_table table{{"class", "precision", "recall", "f1", "rows"}};
  for (const auto& one : object["classes"])
    table.add({one["class"].get<std::string>(), figure_text(one["precision"]),
               figure_text(one["recall"]), figure_text(one["f1"]), one["rows"].dump()});
  return table.text();
}

std::string matrix_table(const json& object) {
  std::vector<std::string> names{"actual \\ predicted"};
  for (const auto& one : object["classes"])
    names.push_back(one["class"].get<std::string>());
  if (names.size() > matrix_classes_max + 1)
    return "the confusion matrix of " + std::to_string(names.size() - 1) +
           " classes is printed with --json\n";
  text_table table{names};
  for (size_t i = 0; i + 1 < names.size(); ++i) {
    std::vector<std::string> cells{names[i + 1]};
    for (const auto& count : object["confusion_matrix"][i])
      cells.push_back(count.dump());
    table.add(std::move(cells));
  }
  return table.text();
}

std::string report_of(const json& object) {
  text_table figures{{}};
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
  return figures.text() + '\n' + class_table(object) + '\n' + matrix_table(object);
}

} // namespace

int evaluate_command(const evaluate_arguments& arguments) {
  return with_failure_object(arguments.json, [&] {
    const auto model = read_model(arguments.model_file);
    auto rows = open_rows(model, arguments.data, target_wish::needed);
    const auto result = judge(model, rows);
    const auto object = object_of(model, arguments.data.file, result);
    print_result(arguments.json ? one_line(object) : report_of(object));
    return 0;
  });
}

} // namespace troupe
