#include "coordinators/job/federated_job.hpp"
#include "coordinators/job/job_check.hpp"
#include "coordinators/job/resolve.hpp"
#include "coordinators/job/training_modes.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

namespace {

void check_fractions(problem_list& check, const data_options& x) {
  check.require(!(x.test_fraction < 1 && x.validation_fraction < 1) ||
                  x.test_fraction + x.validation_fraction < 1,
                "data.validation_fraction", "leaves no rows for training beside data.test_fraction",
                "keep the sum of the two below 1");
}

void check_given_parts(problem_list& check, const data_options& x, bool rows_elsewhere) {
  struct given_part {
    std::string name;
    std::string use;
    const std::string& file;
    double fraction;
  };
  for (const auto& [name, use, file, fraction] :
       {given_part{"test", "testing", x.test_file, x.test_fraction},
        given_part{"validation", "validation", x.validation_file, x.validation_fraction}}) {
    const auto key = "data." + name + "_file";
    check.require(file.empty() || rows_elsewhere || !x.file.empty(), key,
                  "the job names rows for " + use + " but no data.file",
                  "name the rows to train on");
    check.require(file.empty() || fraction == 0, "data." + name + "_fraction",
                  "the rows for " + use + " come from " + key, "keep one of the two");
  }
}

void check_folds(problem_list& check, const data_options& x) {
  check.require(!x.folds || x.fold, "data.folds", "which fold is for validation is not said",
                "set data.fold, from 0, or let troupe sweep --folds train them all");
  check.require(!x.fold || x.folds, "data.fold",
                "into how many folds the rows are split is not said", "set data.folds, to 5 say");
  check.require(!x.fold || !x.folds || *x.fold < *x.folds, "data.fold",
                "folds are counted from 0, below data.folds", "use a smaller number");
  check.require(!x.folds || x.validation_fraction == 0, "data.validation_fraction",
                "the fold is for validation", "keep one of the two");
  check.require(!x.folds || x.validation_file.empty(), "data.validation_file",
                "the fold is for validation", "keep one of the two");
}

void check_split(problem_list& check, const data_options& x) {
  check_folds(check, x);
  const bool splits = x.test_fraction > 0 || x.validation_fraction > 0 || x.folds;
  const std::string split_hint =
    "set data.test_fraction, data.validation_fraction or data.folds, or leave it out";
  check.require(!x.stratify || splits, "data.stratify", "no rows are split off", split_hint);
  check.require(x.split_by.empty() || splits, "data.split_by", "no rows are split off", split_hint);
  check.require(!x.stratify || x.split_by.empty(), "data.stratify",
                "groups stay whole, and classes cannot keep their shares too",
                "keep one of data.stratify and data.split_by");
  const auto* careful = x.stratify            ? "data.stratify"
                        : !x.split_by.empty() ? "data.split_by"
                                              : "data.folds";
  check.require(x.shuffle == shuffle_kind::rows || (!x.stratify && x.split_by.empty() && !x.folds),
                careful, "lanes split each chunk by itself, and nobody looks at all rows",
                "use data.shuffle = \"rows\", or leave it out");
}

void check_lanes(problem_list& check, const data_options& x) {
  const bool by_lanes = x.shuffle == shuffle_kind::lanes;
  const std::string hint = "set data.shuffle = \"lanes\", or leave it out";
  check.require(by_lanes || !x.lanes.chunk_rows, "data.chunk_rows", "belongs to lanes", hint);
  check.require(by_lanes || !x.lanes.window_rows, "data.window_rows", "belongs to lanes", hint);
}

void check_column_lists(problem_list& check, const data_options& x) {
  struct column_list {
    const char* key;
    std::vector<std::string> names;
  };
  const auto named = [](const std::string& column) {
    return column.empty() ? std::vector<std::string>{} : std::vector{column};
  };
  std::vector lists{column_list{"data.ignore", x.ignore}};
  for (const auto& reading : column_readings)
    lists.push_back({reading.key, x.*reading.columns});
  lists.push_back({"data.weight", named(x.weight)});
  lists.push_back({"data.split_by", named(x.split_by)});
  std::map<std::string, const char*> seen;
  for (const auto& [key, names] : lists)
    for (const auto& name : names) {
      check.require(!name.empty(), key, "a column has no name",
                    "use a column's name or its number counted from 0");
      const auto [first, is_new] = seen.emplace(name, key);
      check.require(is_new, key,
                    first->second == key
                      ? "'" + name + "' is named twice"
                      : "'" + name + "' is named in " + std::string{first->second} + " too",
                    "name it once");
    }
}

void check_missing(problem_list& check, const data_options& x) {
  constexpr size_t texts_max = 100;
  const bool is_error = x.missing == missing_rule::error;
  check.require(!is_error || x.missing_cells == data_options{}.missing_cells, "data.missing_cells",
                "what is done with rows that have such cells is not said",
                "set data.missing to \"mean\" or \"drop\"");
  check.require(x.missing_cells.size() <= texts_max, "data.missing_cells",
                "there are more than " + std::to_string(texts_max) + " texts",
                "name the few that say that there is no value");
  check.require(!x.missing_indicator || x.missing == missing_rule::mean, "data.missing_indicator",
                "marks cells that the mean stands for", "set data.missing = \"mean\"");
}

void check_cells(problem_list& check, const cell_options& x) {
  struct letter {
    const char* key;
    const std::string& text;
  };
  std::map<char, const char*> seen;
  for (const auto& [key, text] :
       {letter{"data.separator", x.separator}, letter{"data.quote", x.quote},
        letter{"data.decimal", x.decimal}, letter{"data.comment", x.comment}}) {
    if (text.empty() && &text == &x.comment)
      continue;
    const bool is_letter = text.size() == 1 &&
                           std::string_view{"0123456789+-eE\r\n"}.find(text.front()) == text.npos &&
                           static_cast<unsigned char>(text.front()) < 128 && text.front() != '\0';
    check.require(is_letter, key, "is not a single letter that can stand between numbers",
                  "use one such as \";\" or \"\\t\"");
    if (!is_letter)
      continue;
    const auto [first, is_new] = seen.emplace(text.front(), key);
    check.require(is_new, key, "is that of " + std::string{first->second} + " too",
                  "use another for one of them");
  }
  check.require(x.decimal == "." || x.decimal == ",", "data.decimal", "is a point or a comma",
                "use \".\" or \",\"");
  check.require(x.decimal == "." || x.separator != ".", "data.separator",
                "a point is part of numbers", "use another letter");
}

void check_columns(problem_list& check, const data_options& x, bool synthetic) {
  check_column_lists(check, x);
  check.require(x.date_order == date_form::year_first || !x.date.empty() || !x.datetime.empty(),
                "data.date_order", "says how dates are written, and no column is one",
                "name the columns in data.date or data.datetime, or leave it out");
  check_missing(check, x);
  check_cells(check, x.cells);
  check.require(x.ignore.empty() || !synthetic, "data.ignore",
                "the data are made by a rule, which makes features only", "leave it out");
  const bool is_csv = x.format == file_format::by_name || x.format == file_format::csv;
  for (const auto& [key, column] :
       {std::pair{"data.weight", &x.weight}, std::pair{"data.split_by", &x.split_by}})
    check.require(column->empty() || (is_csv && !synthetic), key,
                  "names a column of a CSV file, and there is none",
                  "leave it out, or write the rows as CSV");
  const auto* named = key_of_readings(x);
  const auto* key = named ? named : x.has_plan() ? "data.missing" : "data.separator";
  check.require((is_csv && !synthetic) || (!x.has_plan() && x.cells == cell_options{}), key,
                "says how cells of a CSV file are read, and there is none",
                "leave it out, or write the rows as CSV");
}

/// What belongs to texts, and what has no use for one.
void check_text(problem_list& check, const data_options& x, bool synthetic) {
  const bool is_text = x.format == file_format::text && !synthetic;
  check.require(is_text || x.text == window_options{},
                x.text.window != window_options{}.window ? "data.window" : "data.stride",
                "says how rows are cut from a text, and there is none",
                "set data.format = \"text\", or leave it out");
  if (!is_text)
    return;
  const std::string hint = "leave it out, or write the rows in another format";
  const auto refuse = [&](bool is_set, const char* key, const std::string& why) {
    check.require(!is_set, key, why, hint);
  };
  refuse(x.target != "last", "data.target", "a text has no columns: the next character is learned");
  refuse(!x.ignore.empty(), "data.ignore", "a text has no columns");
  refuse(x.header != csv_header::automatic, "data.header", "a text has no header");
  refuse(x.standardize, "data.standardize", "characters are codes, which have no scale");
  refuse(x.stratify, "data.stratify", "a text is split by position, because its rows overlap");
  refuse(x.shuffle == shuffle_kind::lanes, "data.shuffle",
         "lanes split each chunk of rows by itself, but the rows of a text overlap");
}

bool solves(const job& x) {
  return scope_of(x.optimizer.kind) == optimizer_scope::solver;
}

bool by_lanes(const job& x) {
  return x.data.shuffle == shuffle_kind::lanes;
}

bool cuts_first_layer(const model_options& x) {
  return x.cuts.value_or(1) > 1 && (x.cut.empty() || x.cut.front() != layer_cut::none);
}

} // namespace

void check_data(problem_list& check, const data_options& x, bool rows_elsewhere) {
  const bool synthetic = x.synthetic != synthetic_kind::none;
  check.require(x.holdings.empty() || (!synthetic && !rows_elsewhere && x.file.empty()),
                "data.holdings", "the job names other rows, too", "keep one of the two");
  check.require(!x.at_nodes || (!synthetic && !rows_elsewhere && x.holdings.empty()),
                "data.at_nodes", "the job names other rows, too", "keep one of the two");
  rows_elsewhere = rows_elsewhere || !x.holdings.empty() || x.at_nodes;
  check.require(synthetic || rows_elsewhere || !x.file.empty(), "data.file",
                "the job names no data",
                "set data.file to a file of rows, or data.synthetic to \"classification\" or "
                "\"regression\"");
  check.require(!synthetic || x.file.empty(), "data.synthetic",
                "the job names a file and asks for synthetic data", "keep one of the two");
  check.require(!x.target.empty(), "data.target", "must not be empty",
                "use \"last\", a column's name or its number counted from 0");
  check_columns(check, x, synthetic);
  const bool has_labels = !x.labels_file.empty();
  check.require(!has_labels || rows_elsewhere || !x.file.empty(), "data.labels_file",
                "the job names labels but no data.file", "name the rows that they belong to");
  check.require(!has_labels || (x.format != file_format::csv && x.format != file_format::libsvm &&
                                x.format != file_format::text),
                "data.labels_file", std::string{name_of(x.format)} + " files hold their targets",
                "leave data.labels_file out");
  check.require(!has_labels || x.target == "last", "data.target",
                "the targets come from data.labels_file", "keep one of the two");
  check_fractions(check, x);
  check_given_parts(check, x, rows_elsewhere);
  check_split(check, x);
  check_lanes(check, x);
  check_text(check, x, synthetic);
}

void check_holdings(problem_list& check, const job& x) {
  if (x.data.holdings.empty() && !x.data.at_nodes)
    return;
  check.require(wants_classes(x.model).has_value(), "model.loss",
                "is not given: of several files one may look as if it held classes, and another "
                "numbers",
                "use \"categorical-cross-entropy\" for classes, \"squared\" for numbers");
  const char* key = x.data.at_nodes ? "data.at_nodes" : "data.holdings";
  const auto refuse = [&](bool is_set, const char* why, const char* hint) {
    check.require(!is_set, key, why, hint);
  };
  refuse(is_federated(x.training), "federated training has clients, not holdings",
         "use federated.partition = { files = \"clients/*.csv\" }");
  refuse(solves(x), "a solver looks at all rows together", "use lbfgs");
  using enum consistency_kind;
  const auto consistency = x.training.consistency;
  refuse(consistency == bounded || consistency == half_synchronous,
         "nodes with fewer rows take part in fewer steps, and others would wait for them",
         "use training.consistency = \"asynchronous\", or leave it out");
  refuse(by_lanes(x), "holdings are shuffled row by row", "leave data.shuffle out");
  refuse(!x.data.labels_file.empty(), "each file has its labels beside it, by its name",
         "leave data.labels_file out");
  refuse(x.data.at_nodes && x.parallel.splits(),
         "a group of replicas shares its slices, and so its rows",
         "leave out parallel.tensor, pipeline and sharded");
  refuse(x.data.at_nodes && x.training.threshold != threshold_kind::none,
         "no node has all rows that a threshold is chosen by", "leave out training.threshold");
  refuse(x.data.format == file_format::text, "texts have vocabularies of their own",
         "put the texts into one file");
}

bool needs_dense_rows(const job& x) {
  return solves(x) || x.model.own.is_set() || cuts_first_layer(x.model) || by_lanes(x) ||
         !x.data.test_file.empty() || !x.data.validation_file.empty();
}

void check_sparse(problem_list& check, const job& x) {
  const auto& data = x.data;
  const bool is_libsvm =
    data.synthetic == synthetic_kind::none &&
    (data.format == file_format::libsvm || data.format == file_format::by_name);
  const bool sparse = data.dense == row_form::sparse;
  check.require(is_libsvm || !sparse, "data.dense", "only libsvm files have sparse rows",
                "leave data.dense out");
  check.require(is_libsvm || !data.hash_bits, "data.hash_bits", "belongs to libsvm files",
                "leave data.hash_bits out");
  check.require(is_libsvm || data.index_base == data_options{}.index_base, "data.index_base",
                "belongs to libsvm files", "leave data.index_base out");
  check.require(!sparse || !solves(x), "optimizer.kind",
                std::string{name_of(x.optimizer.kind)} +
                  " solves for dense rows, but data.dense is false",
                "use lbfgs, or leave data.dense out");
  check.require(!sparse || !cuts_first_layer(x.model), "model.cuts",
                "the first layer reads sparse rows and is not cut, since data.dense is false",
                "let model.cut begin with \"none\", use model.cuts = 1, or leave data.dense out");
  check.require(!sparse || !by_lanes(x), "data.shuffle",
                "lanes have dense rows, but data.dense is false", "leave one of the two out");
  for (const auto& [part, file] :
       {std::pair{"test", &data.test_file}, std::pair{"validation", &data.validation_file}})
    check.require(!sparse || file->empty(), "data." + std::string{part} + "_file",
                  "belongs to dense rows, but data.dense is false",
                  "use data." + std::string{part} + "_fraction, or leave data.dense out");
}

} // namespace troupe
