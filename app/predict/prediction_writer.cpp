#include "app/predict/prediction_writer.hpp"

#include "app/terminal/output.hpp"
#include "data/text/number_text.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

namespace troupe {

namespace {

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

} // namespace

prediction_writer::prediction_writer(const saved_model& model, const std::string& path,
                                     bool probabilities)
  : model_(model),
    probabilities_(probabilities),
    is_npy_(path.ends_with(".npy")),
    class_values_(whole_numbers(model.classes)) {
  if (probabilities && !model.is_classification())
    throw failure(failure_code::usage, "--probabilities needs a model of classes", model.path,
                  "this one predicts numbers: leave it out");
  if (!path.empty() && !is_npy_ && !path.ends_with(".csv"))
    throw failure(failure_code::usage, "'" + path + "' ends neither in .csv nor in .npy", {},
                  "the ending decides the format");
  if (!path.empty())
    file_.emplace(path);
  send(is_npy_ ? npy_header(0) : csv_header_line());
}

std::string prediction_writer::csv_header_line() const {
  std::string result;
  for (const auto& name : model_.target_names) {
    auto shown = is_index(name) ? std::string{"prediction"} : name;
    if (is_index(name) && model_.target_names.size() > 1)
      shown += " " + name;
    result += (result.empty() ? "" : ",") + cell_text(shown);
  }
  if (probabilities_)
    for (const auto& name : model_.classes)
      result += ',' + cell_text("p(" + name + ')');
  return result + '\n';
}

std::string prediction_writer::npy_header(uint64_t row_count) const {
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

void prediction_writer::send(std::string_view bytes) {
  if (file_)
    file_->append(bytes);
  else
    print_result(bytes);
}

void prediction_writer::write(std::span<const float> predictions) {
  if (is_npy_)
    write_npy(predictions);
  else
    write_csv(predictions);
  row_count_ += predictions.size() / model_.prediction_count();
}

void prediction_writer::write_csv(std::span<const float> predictions) {
  const auto columns = model_.prediction_count();
  text_.clear();
  for (size_t begin = 0; begin < predictions.size(); begin += columns) {
    const auto row = predictions.subspan(begin, columns);
    if (model_.is_classification())
      text_ += cell_text(model_.classes[likeliest_class(row)]);
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

void prediction_writer::write_npy(std::span<const float> predictions) {
  if (!labels_only())
    return send({reinterpret_cast<const char*>(predictions.data()), predictions.size_bytes()});
  const auto columns = model_.prediction_count();
  std::vector<int64_t> labels;
  for (size_t begin = 0; begin < predictions.size(); begin += columns) {
    const auto label = likeliest_class(predictions.subspan(begin, columns));
    labels.push_back(class_values_.empty() ? static_cast<int64_t>(label) : class_values_[label]);
  }
  send(bytes_of(labels));
}

void prediction_writer::finish() {
  if (!file_)
    return;
  if (is_npy_) {
    const auto header = npy_header(row_count_);
    file_->write_at(0, std::as_bytes(std::span{header}));
  }
  file_->publish();
}

} // namespace troupe
