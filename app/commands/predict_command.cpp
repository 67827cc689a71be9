#include "app/commands/commands.hpp"
#include "app/predict/model_rows.hpp"
#include "app/predict/run_rows.hpp"
#include "app/terminal/output.hpp"
#include "data/disk/atomic_file.hpp"
#include "data/formats/text/read_text.hpp"
#include "data/model_file/saved_model.hpp"
#include "data/text/failure.hpp"
#include "data/text/number_text.hpp"
#include "data/text/shown_text.hpp"
#include "models/base/random.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

namespace {

// Predictions on their way out: CSV to standard output or a file, or NPY, the array format of
// NumPy. They are written as they come; a file gets its name when it is whole.
//
// CSV begins with a header. First come the columns that are kept of the file. A classification has the predicted class, in a column with the target's
// name ("prediction" when it has none). On request the columns p(CLASS) have the probability of
// each class. A regression has one column for each target. Numbers have as many digits as it takes
// to read the same float32 back.
//
// NPY is one array: probabilities or targets are float32 of shape (rows, columns); classes are
// int64 of shape (rows), the classes' own values when all are whole numbers, else their numbers
// counted from 0.

static_assert(std::endian::native == std::endian::little, "NPY is written as it lies in memory");

/// Room for the row count, which is known at the end only; a multiple of 64, as NPY asks.
constexpr size_t npy_header_bytes = 128;

std::string cell_text(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos && !text.starts_with(' ') &&
      !text.ends_with(' '))
    return text;
  std::string result = "\"";
  for (auto letter : text)
    result += letter == '"' ? "\"\"" : std::string(1, letter);
  return result + '"';
}

void append_number(std::string& out, float value) {
  char text[32];
  const auto shown = std::isnan(value) ? std::fabs(value) : value;
  const auto end = std::to_chars(text, text + sizeof text, shown).ptr;
  out.append(text, end);
}

// Values of classes that are all whole numbers, written as such; else none.
std::vector<int64_t> whole_numbers(const std::vector<std::string>& classes) {
  std::vector<int64_t> result;
  for (const auto& text : classes) {
    int64_t value = 0;
    double number = 0; // as +1 or 1.0
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_plain = error == std::errc{} && end == text.data() + text.size();
    if (!is_plain && (read_number(text, number) != number_status::number ||
                      std::trunc(number) != number || std::fabs(number) > 0x1p53))
      return {};
    result.push_back(is_plain ? value : static_cast<int64_t>(number));
  }
  return result;
}

bool is_index(const std::string& name) {
  return std::ranges::all_of(name, [](char letter) { return letter >= '0' && letter <= '9'; });
}

std::string_view bytes_of(const std::vector<int64_t>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int64_t)};
}

class prediction_writer {
public:
  /// `path` ends in .csv or .npy, or is empty for standard output. `kept`: columns of each row that come first. The
  /// model must outlive this. Throws failure: usage for another ending, for probabilities of a regression, and for
  /// columns kept in an array; what atomic_file throws.
  prediction_writer(const saved_model& model, const std::string& path, bool probabilities,
                    const std::vector<std::string>& kept)
    : model_(model),
      probabilities_(probabilities),
      kept_count_(kept.size()),
      is_npy_(path.ends_with(".npy")),
      class_values_(whole_numbers(model.classes)) {
    if (probabilities && !model.is_classification())
      throw failure(failure_code::usage, "--probabilities needs a model of classes", model.path,
                    "this one predicts numbers: leave it out");
    if (!path.empty() && !is_npy_ && !path.ends_with(".csv"))
      throw failure(failure_code::usage, "'" + path + "' ends neither in .csv nor in .npy", {},
                    "the ending decides the format");
    if (is_npy_ && !kept.empty())
      throw failure(failure_code::usage, "an array of NumPy holds numbers alone", "--keep",
                    "write a .csv file");
    if (!path.empty())
      file_.emplace(path);
    send(is_npy_ ? npy_header(0) : csv_header_line(kept));
  }

  /// Appends rows of predictions (N x K), with the cells of kept columns (N x C).
  void write(std::span<const float> predictions, std::span<const std::string> kept) {
    if (is_npy_)
      write_npy(predictions);
    else
      write_csv(predictions, kept);
    row_count_ += predictions.size() / model_.prediction_count();
  }

  /// The end: a file takes its name.
  void finish() {
    if (!file_)
      return;
    if (is_npy_) {
      const auto header = npy_header(row_count_);
      file_->write_at(0, std::as_bytes(std::span{header}));
    }
    file_->publish();
  }

  /// Whether class numbers stand for classes: NPY of classes that are no whole numbers.
  bool numbers_classes() const { return is_npy_ && labels_only() && class_values_.empty(); }

private:
  bool labels_only() const { return model_.is_classification() && !probabilities_; }
  void write_csv(std::span<const float> predictions, std::span<const std::string> kept) {
    const auto columns = model_.prediction_count();
    text_.clear();
    for (size_t begin = 0; begin < predictions.size(); begin += columns) {
      const auto row = predictions.subspan(begin, columns);
      for (const auto& cell : kept.subspan(begin / columns * kept_count_, kept_count_))
        text_ += cell_text(cell) + ',';
      if (model_.is_classification())
        text_ += cell_text(model_.classes[model_.decide(row)]);
      if (!labels_only())
        for (size_t j = 0; j < columns; ++j) {
          if (j > 0 || model_.is_classification())
            text_ += ',';
          append_number(text_, row[j]);
        }
      text_ += '\n';
    }
    send(text_);
  }

  void write_npy(std::span<const float> predictions) {
    if (!labels_only())
      return send({reinterpret_cast<const char*>(predictions.data()), predictions.size_bytes()});
    const auto columns = model_.prediction_count();
    std::vector<int64_t> labels;
    for (size_t begin = 0; begin < predictions.size(); begin += columns) {
      const auto label = model_.decide(predictions.subspan(begin, columns));
      labels.push_back(class_values_.empty() ? static_cast<int64_t>(label) : class_values_[label]);
    }
    send(bytes_of(labels));
  }

  /// A kept column that is the target has its name, and the prediction another.
  std::string csv_header_line(const std::vector<std::string>& kept) const {
    std::string result;
    for (const auto& name : kept)
      result += (result.empty() ? "" : ",") + cell_text(name);
    for (const auto& name : model_.target_names) {
      auto shown = is_index(name) ? std::string{"prediction"} : name;
      if (is_index(name) && model_.target_names.size() > 1)
        shown += " " + name;
      if (std::ranges::find(kept, shown) != kept.end())
        shown = "predicted " + shown;
      result += (result.empty() ? "" : ",") + cell_text(shown);
    }
    if (probabilities_)
      for (const auto& name : model_.classes)
        result += ',' + cell_text("p(" + name + ')');
    return result + '\n';
  }

  std::string npy_header(uint64_t row_count) const {
    const auto shape = labels_only() ? "(" + std::to_string(row_count) + ",)"
                                     : "(" + std::to_string(row_count) + ", " +
                                         std::to_string(model_.prediction_count()) + ")";
    std::string result{"\x93NUMPY\x01\x00", 8};
    constexpr auto length = npy_header_bytes - 10;
    result += static_cast<char>(length);
    result += '\0';
    result += std::string{"{'descr': '"} + (labels_only() ? "<i8" : "<f4") +
              "', 'fortran_order': False, 'shape': " + shape + ", }";
    result.resize(npy_header_bytes - 1, ' ');
    return result + '\n';
  }

  void send(std::string_view bytes) {
    if (file_)
      file_->append(bytes);
    else
      print_result(bytes);
  }

  const saved_model& model_;
  bool probabilities_;
  size_t kept_count_;
  bool is_npy_ = false;
  std::optional<atomic_file> file_;   ///< none: standard output
  std::vector<int64_t> class_values_; ///< of classes that are all whole numbers
  uint64_t row_count_ = 0;
  std::string text_; ///< of one part; kept for its memory
};

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

/// The window before the first generated character.
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
  return decided_class(probabilities, {}); // they add up to a little less than 1
}

/// Draws each character from the probabilities that the model gives after those before it, and prints it at once, in
/// UTF-8. Where the window begins before the prompt does, its characters are none: the code behind the last one.
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
      options.is_greedy ? decided_class(probabilities, {}) : drawn(probabilities, words.unit());
    print_result(model.classes[next]);
    std::rotate(window.begin(), window.begin() + 1, window.end());
    window.back() = static_cast<float>(next);
  }
}

int generate(const predict_arguments& x) {
  if (!x.data.file.empty() || !x.output_file.empty() || x.probabilities || !x.rows.empty() ||
      !x.keep.empty())
    throw failure(failure_code::usage, "--generate reads no rows, and prints characters alone",
                  "--generate", "leave DATA, --rows, --keep, -o and --probabilities out");
  generate_text(read_model(model_path_of(x.model_file)), x.generate);
  print_result("\n");
  return 0;
}

/// The named file, or that of the run.
rows_in_file rows_for(const predict_arguments& x) {
  if (x.rows.empty())
    return {0, x.data, {}};
  refuse_data_options(x.data);
  return file_of_run(run_folder_of(x.model_file), part_option(x.rows));
}

/// Names of the columns that the reader is to keep.
std::vector<std::string> kept_columns(const predict_arguments& x, const data_arguments& data,
                                      row_reader& reader) {
  if (!x.keep.empty() && format_option(data) != file_format::csv)
    throw failure(failure_code::usage, "only CSV files have cells to keep", "--keep",
                  "leave it out");
  reader.keep(x.keep);
  std::vector<std::string> result;
  for (const auto& column : x.keep)
    result.push_back(reader.column_names()[reader.find_column(column)]);
  return result;
}

/// Removes rows of other parts; the first one is number `first` of the file.
void leave_others_out(const rows_in_file& chosen, size_t first, size_t columns, size_t kept_count,
                      std::vector<float>& predictions, std::vector<std::string>& kept) {
  size_t count = 0;
  for (size_t i = 0; i < predictions.size() / columns; ++i) {
    if (!chosen.are_of_part(first + i))
      continue;
    std::copy_n(predictions.begin() + static_cast<std::ptrdiff_t>(i * columns), columns,
                predictions.begin() + static_cast<std::ptrdiff_t>(count * columns));
    if (count != i)
      std::move(kept.begin() + static_cast<std::ptrdiff_t>(i * kept_count),
                kept.begin() + static_cast<std::ptrdiff_t>((i + 1) * kept_count),
                kept.begin() + static_cast<std::ptrdiff_t>(count * kept_count));
    ++count;
  }
  predictions.resize(count * columns);
  kept.resize(count * kept_count);
}

} // namespace

int predict_command(const predict_arguments& arguments) {
  if (arguments.generate.count > 0)
    return generate(arguments);
  if (arguments.data.file.empty() && arguments.rows.empty())
    throw failure(
      failure_code::usage, "no rows are named", {},
      "name a data file, or those of the model's own run: --rows test; or let a model of a text "
      "write: --generate 100");
  if (!arguments.data.file.empty() && !arguments.rows.empty())
    throw failure(failure_code::usage, "--rows are those of the run, and a data file is named",
                  "--rows", "leave one of the two out");
  const auto model = read_model(model_path_of(arguments.model_file));
  const auto chosen = rows_for(arguments);
  // Training left rows without a value out, its own parts are counted without them.
  auto rows =
    open_rows(model, chosen.data, chosen.are_of_part ? target_wish::needed : target_wish::ignored);
  print_message("troupe: " + rows.assumption + '\n');
  const auto kept = kept_columns(arguments, chosen.data, *rows.reader);
  prediction_writer out{model, arguments.output_file, arguments.probabilities, kept};
  if (out.numbers_classes())
    print_message("troupe: " + arguments.output_file +
                  ": classes are not whole numbers and are numbered from 0, as 'troupe inspect' "
                  "lists them\n");
  predictor predict{model};
  std::vector<float> predictions;
  uint64_t unfit = 0;
  size_t row = 0;
  for (table_chunk part; rows.next(part, model_rows_part);) {
    predictions.resize(part.row_count * model.prediction_count());
    predict.predict(part.rows(), predictions);
    if (chosen.are_of_part)
      leave_others_out(chosen, row, model.prediction_count(), kept.size(), predictions,
                       part.kept_cells);
    row += part.row_count;
    out.write(predictions, part.kept_cells);
    unfit += unfit_rows(predictions, model.prediction_count());
  }
  if (chosen.are_of_part && row != chosen.row_count)
    throw failure(failure_code::mismatch,
                  "the file has " + std::to_string(row) +
                    " rows for this model, and training saw " + std::to_string(chosen.row_count) +
                    ": which of them are of the part is not known",
                  chosen.data.file, "name a data file in place of --rows");
  out.finish();
  rows.warn();
  warn_of_unfit(unfit, model);
  return 0;
}

} // namespace troupe
