// The module troupe._troupe: `estimator` (actors/embed/estimator.hpp) for Python, over arrays of
// NumPy. What scikit-learn expects of an estimator is in troupe/__init__.py beside it.
//
// Threads: `fit` lets go of the interpreter's lock and waits. Actors never run Python; the waiting
// thread takes the lock about ten times a second to look for signals, and for callbacks.

#include "actors/embed/estimator.hpp"
#include "actors/protocol/training_progress.hpp"
#include "app/predict/model_rows.hpp"
#include "data/model_file/safetensors.hpp"
#include "data/records/history_figures.hpp"
#include "data/text/failure.hpp"
#include "models/base/copy_values.hpp"
#include "models/network/start_values.hpp"
#include "models/segments/segment_chain.hpp"
#include "troupe/version.hpp"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace py = pybind11;

namespace troupe {
namespace {

/// Float32 in rows: what is already so is not copied.
using float_array = py::array_t<float, py::array::c_style | py::array::forcecast>;

// ---- Options

template <class Enum>
Enum named_value(const py::handle& value) {
  const auto name = value.cast<std::string>();
  if (const auto found = from_name<Enum>(name))
    return *found;
  throw py::value_error("'" + name + "' is none of " + all_names<Enum>());
}

/// A dict of texts, in its order.
tensor_names names_in(const py::handle& given) {
  tensor_names result;
  for (const auto& [own, other] : given.cast<py::dict>())
    result.emplace_back(own.cast<std::string>(), other.cast<std::string>());
  return result;
}

using setter = void (*)(estimator_options&, const py::handle&);

const std::map<std::string, setter>& setters() {
  static const std::map<std::string, setter> table{
    {"hidden",
     [](auto& x, auto& v) {
       x.model.hidden = PySequence_Check(v.ptr()) ? v.template cast<std::vector<size_t>>()
                                                  : std::vector{v.template cast<size_t>()};
     }},
    {"layers",
     [](auto& x, auto& v) {
       x.model.own.kind = "chain";
       x.model.own.options["layers"] = v.template cast<std::string>();
     }},
    {"shape",
     [](auto& x, auto& v) {
       x.model.own.options["shape"] = v.template cast<std::vector<int64_t>>();
     }},
    {"activation", [](auto& x, auto& v) { x.model.activation = named_value<activation_kind>(v); }},
    {"dropout", [](auto& x, auto& v) { x.model.dropout = v.template cast<double>(); }},
    {"optimizer", [](auto& x, auto& v) { x.optimizer.kind = named_value<optimizer_kind>(v); }},
    {"learning_rate",
     [](auto& x, auto& v) { x.optimizer.learning_rate = v.template cast<double>(); }},
    {"plateau", [](auto& x, auto& v) { x.optimizer.plateau.patience = v.template cast<size_t>(); }},
    {"plateau_factor",
     [](auto& x, auto& v) { x.optimizer.plateau.factor = v.template cast<double>(); }},
    {"l2", [](auto& x, auto& v) { x.optimizer.l2 = v.template cast<double>(); }},
    {"epochs", [](auto& x, auto& v) { x.training.epochs = v.template cast<size_t>(); }},
    {"batch_size", [](auto& x, auto& v) { x.training.batch_size = v.template cast<size_t>(); }},
    {"slices", [](auto& x, auto& v) { x.training.slices = v.template cast<size_t>(); }},
    {"replicas", [](auto& x, auto& v) { x.training.replicas = v.template cast<size_t>(); }},
    {"patience", [](auto& x, auto& v) { x.training.patience = v.template cast<size_t>(); }},
    {"validation_fraction",
     [](auto& x, auto& v) { x.validation_fraction = v.template cast<double>(); }},
    {"standardize", [](auto& x, auto& v) { x.standardize = v.template cast<bool>(); }},
    {"target_scale", [](auto& x, auto& v) { x.target_scale = named_value<target_scale_kind>(v); }},
    {"class_weight",
     [](auto& x, auto& v) {
       auto& weights = x.training.class_weights;
       weights.kind =
         py::isinstance<py::str>(v) ? class_weight_kind::balanced : class_weight_kind::list;
       if (weights.kind == class_weight_kind::list)
         weights.values = v.template cast<std::vector<double>>();
     }},
    {"threshold",
     [](auto& x, auto& v) {
       auto& training = x.training;
       const auto rule = py::isinstance<py::dict>(v) && py::len(v) == 1
                           ? *v.template cast<py::dict>().begin()
                           : std::pair<py::handle, py::handle>{v, {}};
       training.threshold = named_value<threshold_kind>(rule.first);
       const bool is_cost = training.threshold == threshold_kind::cost;
       if ((is_cost || training.threshold == threshold_kind::precision) !=
           (rule.second.ptr() != nullptr))
         throw py::value_error("write 'f1', {'precision': 0.9} or {'cost': 10}");
       if (rule.second)
         (is_cost ? training.cost : training.precision) = rule.second.template cast<double>();
     }},
    {"start_from",
     [](auto& x, auto& v) {
       auto& start = x.model;
       if (!py::isinstance<py::dict>(v)) {
         start.start_from =
           py::module_::import("os").attr("fspath")(v).template cast<std::string>();
         return;
       }
       for (const auto& [key, value] : v.template cast<py::dict>())
         if (const auto name = key.template cast<std::string>(); name == "path")
           start.start_from =
             py::module_::import("os").attr("fspath")(value).template cast<std::string>();
         else if (name == "names")
           start.start_names = names_in(value);
         else if (name == "fresh" || name == "ignore")
           (name == "fresh" ? start.start_fresh : start.start_ignore) =
             value.template cast<std::vector<std::string>>();
         else
           throw py::value_error("no key '" + name + "': there are path, fresh, ignore and names");
       if (start.start_from.empty())
         throw py::value_error("a dict needs the key 'path'");
     }},
    {"freeze",
     [](auto& x, auto& v) { x.training.freeze = v.template cast<std::vector<std::string>>(); }},
    {"random_state", [](auto& x, auto& v) { x.seed = v.template cast<uint64_t>(); }}};
  return table;
}

/// None leaves an option at the library's default.
estimator_options options_of(const py::kwargs& given) {
  estimator_options result;
  result.optimizer.learning_rate.reset(); // the optimizer's own
  for (const auto& [key, value] : given) {
    const auto name = key.cast<std::string>();
    const auto found = setters().find(name);
    if (found == setters().end())
      throw py::type_error("there is no option '" + name + "'");
    try {
      if (!value.is_none())
        found->second(result, value);
    } catch (const py::cast_error&) {
      throw py::value_error(name + ": cannot be " + py::repr(value).cast<std::string>());
    } catch (const py::value_error& error) {
      throw py::value_error(name + ": " + error.what());
    }
  }
  return result;
}

// ---- What Python sees while `fit` waits

py::dict row_of(const history_row& row) {
  py::dict result;
  result["epoch"] = row.epoch;
  result["steps"] = row.steps;
  for (const auto& figure : common_figures())
    if (!figure.name.starts_with("test_"))
      result[figure.name.c_str()] = figure.in(row);
  return result;
}

/// Runs on the thread that waits. An error of Python (KeyboardInterrupt, or a callback's own) stops
/// training, and is raised when the model is there.
class python_watch {
public:
  explicit python_watch(std::vector<py::function> callbacks) : callbacks_(std::move(callbacks)) {}

  void on_progress(const training_progress& news) {
    if (callbacks_.empty() || !news.finished_epoch || stopped_)
      return;
    const py::gil_scoped_acquire lock;
    try {
      for (const auto& callback : callbacks_)
        if (callback(row_of(*news.finished_epoch)).ptr() == Py_False)
          stopped_ = true;
    } catch (py::error_already_set& error) {
      keep(error);
    }
  }

  bool stop_requested() {
    const auto now = std::chrono::steady_clock::now();
    if (stopped_ || now < next_look_)
      return stopped_;
    next_look_ = now + std::chrono::milliseconds{100};
    const py::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) {
      py::error_already_set error;
      keep(error);
    }
    return stopped_;
  }

  void raise() {
    if (error_)
      throw py::error_already_set{*error_};
  }

private:
  void keep(py::error_already_set& error) {
    error_ = std::make_unique<py::error_already_set>(error);
    stopped_ = true;
  }

  std::vector<py::function> callbacks_;
  std::unique_ptr<py::error_already_set> error_; ///< made and destroyed with the lock
  bool stopped_ = false;
  std::chrono::steady_clock::time_point next_look_{};
};

// ---- Rows

template <class Value>
std::vector<Value> values_of(const py::handle& given) {
  const auto values = py::array_t<Value, py::array::c_style | py::array::forcecast>::ensure(given);
  if (!values)
    throw py::error_already_set();
  return {values.data(), values.data() + values.size()};
}

/// Rows of float32 (N x F), which must stay while the data set is used, or sparse ones: (starts of rows, features,
/// values, F), as in a CSR matrix whose rows are sorted.
dataset rows_of(const py::object& given) {
  dataset result;
  if (py::isinstance<py::tuple>(given)) {
    const auto parts = given.cast<py::tuple>();
    result.sparse = {values_of<uint64_t>(parts[0]), values_of<uint32_t>(parts[1]),
                     values_of<float>(parts[2])};
    result.row_count = result.sparse.row_count();
    result.feature_count = parts[3].cast<size_t>();
    return result;
  }
  const auto values = given.cast<float_array>();
  if (values.ndim() != 2 || !values.is(given))
    throw py::value_error("expected a float32 array of two dimensions, row by row");
  result.lent.values = {values.data(), static_cast<size_t>(values.size())};
  result.row_count = static_cast<size_t>(values.shape(0));
  result.feature_count = static_cast<size_t>(values.shape(1));
  return result;
}

/// Class numbers (N) of these classes, or, without any, numbers (N x T).
void add_targets(const py::object& given, std::vector<std::string> classes, dataset& out) {
  if (!classes.empty()) {
    out.labels = values_of<int32_t>(given);
    out.classes = std::move(classes);
    out.target_names = {"label"};
    return;
  }
  out.targets = values_of<float>(given);
  out.target_count = out.targets.size() / out.row_count;
  for (size_t t = 0; t < out.target_count; ++t)
    out.target_names.push_back("target " + std::to_string(t));
}

// ---- The estimator

class python_estimator {
public:
  explicit python_estimator(estimator_options options) : options_(std::move(options)) {}

  static python_estimator load(const std::string& path) {
    python_estimator result{estimator_options{}};
    const py::gil_scoped_release unlocked;
    result.learned_ = std::make_shared<estimator>(estimator::load(path));
    return result;
  }

  /// Training begins from the other's model.
  void start_from(const python_estimator& other) {
    other.learned();
    start_ = other.learned_;
  }

  /// `weights`: N, or None. `names`: of the features; none where rows are sparse.
  void fit(const py::object& features, const py::object& targets, std::vector<std::string> classes,
           const py::object& weights, const std::vector<std::string>& names,
           std::vector<py::function> callbacks) {
    auto rows = rows_of(features);
    add_targets(targets, std::move(classes), rows);
    if (!weights.is_none())
      rows.weights = values_of<float>(weights);
    rows.feature_names = names;
    auto options = options_;
    if (!rows.is_classification() && options.model.hidden.empty() && !options.model.own.is_set() &&
        scope_of(options.optimizer.kind) == optimizer_scope::solver)
      options.model.kind = model_kind::linear_regression; // the same model, which solvers know
    if (start_)
      options.start = &start_->model();
    python_watch watch{std::move(callbacks)};
    options.on_progress = [&](const training_progress& news) { watch.on_progress(news); };
    options.stop_requested = [&] { return watch.stop_requested(); };
    auto learner = std::make_shared<estimator>(std::move(options));
    {
      const py::gil_scoped_release unlocked;
      learner->fit(std::move(rows));
    }
    learned_ = std::move(learner);
    watch.raise();
  }

  /// N x T targets, or N x K probabilities.
  py::array_t<float> predict(const py::object& features) const {
    const auto rows = rows_of(features);
    const auto& model = learned().model();
    if (rows.feature_count != model.network->feature_count())
      throw py::value_error("expected " + std::to_string(model.network->feature_count()) +
                            " features, got " + std::to_string(rows.feature_count));
    const size_t columns = model.prediction_count();
    py::array_t<float> result({rows.row_count, columns});
    const std::span out{result.mutable_data(), rows.row_count * columns};
    const py::gil_scoped_release unlocked;
    batch all;
    all.row_count = rows.row_count;
    all.features = rows.lent.values;
    all.sparse = rows.sparse.rows(0, rows.row_count);
    predictor{model}.predict(all, out);
    return result;
  }

  /// The same for the rows of a file, read as `troupe predict` reads it, and what that warns of. `header`: "auto", "yes"
  /// or "no". With `is_plain` cells stand between commas, whatever the file that the model was trained on has.
  std::pair<py::array_t<float>, std::vector<std::string>>
  predict_file(const std::string& path, const std::string& header, bool is_plain) const {
    const auto& model = learned().model();
    std::vector<float> predictions;
    std::vector<std::string> remarks;
    {
      const py::gil_scoped_release unlocked;
      data_arguments data;
      data.file = path;
      data.header = header;
      if (is_plain) {
        data.format = "csv";
        data.dialect = csv_dialect{.decimal = model.dialect.decimal};
      }
      auto rows = open_rows(model, data, target_wish::ignored);
      predictor predict{model};
      for (table_chunk part; rows.next(part, model_rows_part);) {
        const auto begin = predictions.size();
        predictions.resize(begin + part.row_count * model.prediction_count());
        predict.predict(part.rows(), std::span{predictions}.subspan(begin));
      }
      if (rows.remarks)
        remarks = rows.remarks();
    }
    const auto columns = model.prediction_count();
    return {py::array_t<float>({predictions.size() / columns, columns}, predictions.data()),
            remarks};
  }

  void save(const std::string& path) const {
    const auto& model = learned().model();
    const py::gil_scoped_release unlocked;
    write_safetensors(path, model.network->layout(), stored_tensor{model.parameters},
                      model.metadata);
  }

  /// Parameters by name, as PyTorch orders their values. `names`: ours, each with another. `like`: names and shapes of
  /// another model's tensors, whose names they get; empty: ours, or those of `names`.
  std::vector<std::pair<std::string, py::array_t<float>>>
  tensors(const py::dict& names,
          const std::vector<std::pair<std::string, std::vector<size_t>>>& like) const {
    const auto& network = *learned().model().network;
    const auto& layout = network.layout();
    start_options options;
    options.start_names = names_in(names);
    parameter_layout theirs;
    for (const auto& [name, shape] : like)
      theirs.add(name, shape.empty() ? std::vector<size_t>{1} : shape);
    for (size_t i = 0; i < layout.tensors().size() && like.empty(); ++i) {
      const auto& own = layout.tensors()[i].name;
      const auto named =
        std::ranges::find(options.start_names, own, &tensor_names::value_type::first);
      theirs.add(named == options.start_names.end() ? own : named->second, torch_shape(network, i));
    }
    const auto match = match_tensors(network, theirs, options, true);
    if (!match.problem.empty())
      throw py::value_error(match.problem + "; " + match.hint);
    std::vector<float> logical(layout.size());
    layout.to_logical(learned().model().parameters.values(), logical);
    std::vector<std::pair<std::string, py::array_t<float>>> result;
    for (const auto& [own, other] : match.pairs) {
      const auto& here = layout.tensors()[own];
      const auto& there = theirs.tensors()[other];
      py::array_t<float> values{there.shape};
      to_torch(network, own, std::span{logical}.subspan(here.offset, here.size),
               {values.mutable_data(), there.size});
      result.emplace_back(there.name, std::move(values));
    }
    return result;
  }

  const estimator& learned() const {
    if (!learned_)
      throw std::logic_error("there is no model yet: call fit or load first");
    return *learned_;
  }
  bool has_model() const { return learned_ != nullptr; }

private:
  estimator_options options_;
  std::shared_ptr<const estimator> learned_;
  std::shared_ptr<const estimator> start_; ///< null: training begins from values by the seed
};

py::list history_of(const python_estimator& x) {
  py::list result;
  for (const auto& row : x.learned().history())
    result.append(row_of(row));
  return result;
}

void save_tensors(const std::string& path,
                  const std::vector<std::pair<std::string, float_array>>& tensors) {
  parameter_layout layout;
  std::vector<float> values;
  for (const auto& [name, tensor] : tensors) {
    const std::vector<size_t> shape{tensor.shape(), tensor.shape() + tensor.ndim()};
    layout.add(name, shape.empty() ? std::vector<size_t>{1} : shape);
    values.insert(values.end(), tensor.data(), tensor.data() + tensor.size());
  }
  write_safetensors(path, layout, values, {});
}

void translate(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const failure& error) {
    switch (error.code()) {
    case failure_code::bad_job:
    case failure_code::bad_data:
    case failure_code::usage:
      return PyErr_SetString(PyExc_ValueError, error.what());
    case failure_code::missing_input:
    case failure_code::cannot_create:
    case failure_code::no_permission:
    case failure_code::io_error:
      return PyErr_SetString(PyExc_OSError, error.what());
    default:
      return PyErr_SetString(PyExc_RuntimeError, error.what());
    }
  }
}

} // namespace
} // namespace troupe

PYBIND11_MODULE(_troupe, module) {
  using troupe::python_estimator;
  module.attr("version") = TROUPE_VERSION;
  module.def("save_tensors", &troupe::save_tensors, py::arg("path"), py::arg("tensors"));
  py::register_exception_translator(&troupe::translate);
  py::class_<python_estimator>(module, "Estimator")
    .def(py::init(
      [](const py::kwargs& options) { return python_estimator{troupe::options_of(options)}; }))
    .def_static("load", &python_estimator::load, py::arg("path"))
    .def("start_from", &python_estimator::start_from, py::arg("other"))
    .def("fit", &python_estimator::fit, py::arg("features"), py::arg("targets"), py::arg("classes"),
         py::arg("weights"), py::arg("feature_names"), py::arg("callbacks"))
    .def("predict", &python_estimator::predict, py::arg("features"))
    .def("predict_file", &python_estimator::predict_file, py::arg("path"), py::arg("header"),
         py::arg("is_plain"))
    .def("save", &python_estimator::save, py::arg("path"))
    .def("tensors", &python_estimator::tensors, py::arg("names"), py::arg("like"))
    .def("history", &troupe::history_of)
    .def_property_readonly("has_model", &python_estimator::has_model)
    .def_property_readonly(
      "is_sparse",
      [](const python_estimator& x) { return x.learned().model().network->chain().reads_sparse(); })
    .def_property_readonly(
      "decimal",
      [](const python_estimator& x) { return std::string{x.learned().model().dialect.decimal}; })
    .def_property_readonly(
      "has_coded_cells",
      [](const python_estimator& x) { return !x.learned().model().columns.empty(); })
    .def_property_readonly(
      "columns", [](const python_estimator& x) { return x.learned().model().column_names(); })
    .def_property_readonly("threshold",
                           [](const python_estimator& x) -> py::object {
                             const auto& threshold = x.learned().model().threshold;
                             return threshold
                                      ? py::make_tuple(threshold->label,
                                                       static_cast<double>(threshold->probability))
                                      : py::object{py::none()};
                           })
    .def_property_readonly("classes",
                           [](const python_estimator& x) { return x.learned().model().classes; })
    .def_property_readonly(
      "feature_count",
      [](const python_estimator& x) { return x.learned().model().network->feature_count(); })
    .def_property_readonly(
      "target_count",
      [](const python_estimator& x) { return x.learned().model().prediction_count(); })
    .def_property_readonly("parameters_sha256", [](const python_estimator& x) {
      return x.learned().model().data_sha256;
    });
}
