// The module troupe._troupe: `estimator` (actors/embed/estimator.hpp) for Python, over arrays of
// NumPy. What scikit-learn expects of an estimator is in troupe/__init__.py beside it.
//
// Threads: `fit` lets go of the interpreter's lock and waits. Actors never run Python; the waiting
// thread takes the lock about ten times a second to look for signals, and for callbacks.

#include "actors/embed/estimator.hpp"
#include "actors/protocol/training_progress.hpp"
#include "data/records/history_figures.hpp"
#include "data/text/failure.hpp"
#include "models/base/copy_values.hpp"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

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
using label_array = py::array_t<int32_t, py::array::c_style | py::array::forcecast>;

// ---- Options

template <class Enum>
Enum named_value(const py::handle& value) {
  const auto name = value.cast<std::string>();
  if (const auto found = from_name<Enum>(name))
    return *found;
  throw py::value_error("'" + name + "' is none of " + all_names<Enum>());
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
    {"standardize",
     [](auto& x, auto& v) { x.standardize_targets = x.standardize = v.template cast<bool>(); }},
    {"seed", [](auto& x, auto& v) { x.seed = v.template cast<uint64_t>(); }}};
  return table;
}

/// None leaves an option at the library's default.
estimator_options options_of(const py::kwargs& given) {
  estimator_options result;
  result.optimizer.learning_rate.reset(); // the optimizer's own
  result.standardize_targets = result.standardize;
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

// ---- The estimator

matrix_view view_of(const float_array& values) {
  if (values.ndim() != 2)
    throw py::value_error("expected an array of two dimensions");
  return {{values.data(), static_cast<size_t>(values.size())},
          static_cast<size_t>(values.shape(0)),
          static_cast<size_t>(values.shape(1))};
}

class python_estimator {
public:
  explicit python_estimator(estimator_options options) : options_(std::move(options)) {}

  static python_estimator load(const std::string& path) {
    python_estimator result{estimator_options{}};
    const py::gil_scoped_release unlocked;
    result.learned_ = std::make_unique<estimator>(estimator::load(path));
    return result;
  }

  void fit_labels(const float_array& features, const label_array& labels,
                  std::vector<py::function> callbacks) {
    const std::span wanted{labels.data(), static_cast<size_t>(labels.size())};
    train(std::move(callbacks),
          [&, rows = view_of(features)](estimator& learner) { learner.fit(rows, wanted); });
  }

  void fit_targets(const float_array& features, const float_array& targets,
                   std::vector<py::function> callbacks) {
    if (options_.model.hidden.empty() && !options_.model.own.is_set())
      options_.model.kind = model_kind::linear_regression; // the same model, which solvers know
    train(std::move(callbacks), [rows = view_of(features), wanted = view_of(targets)](
                                  estimator& learner) { learner.fit(rows, wanted); });
  }

  /// N x T targets, or N x K probabilities.
  py::array_t<float> predict(const float_array& features) const {
    const auto rows = view_of(features);
    const auto& model = learned().model();
    if (rows.columns != model.network->feature_count())
      throw py::value_error("expected " + std::to_string(model.network->feature_count()) +
                            " features, got " + std::to_string(rows.columns));
    const size_t columns = model.prediction_count();
    py::array_t<float> result({rows.rows, columns});
    const std::span out{result.mutable_data(), rows.rows * columns};
    const py::gil_scoped_release unlocked;
    predictor{model}.predict(rows.values, out);
    return result;
  }

  /// Classes are called `classes` in the file, in place of their numbers.
  void save(const std::string& path, const std::optional<std::string>& classes) const {
    const auto& model = learned().model();
    auto metadata = model.metadata;
    if (classes)
      metadata["classes"] = *classes;
    const py::gil_scoped_release unlocked;
    write_safetensors(path, model.network->layout(), stored_tensor{model.parameters}, metadata);
  }

  const estimator& learned() const {
    if (!learned_)
      throw std::logic_error("there is no model yet: call fit or load first");
    return *learned_;
  }
  bool has_model() const { return learned_ != nullptr; }

private:
  template <class Fit>
  void train(std::vector<py::function> callbacks, const Fit& fit) {
    python_watch watch{std::move(callbacks)};
    auto options = options_;
    options.on_progress = [&](const training_progress& news) { watch.on_progress(news); };
    options.stop_requested = [&] { return watch.stop_requested(); };
    auto learner = std::make_unique<estimator>(std::move(options));
    {
      const py::gil_scoped_release unlocked;
      fit(*learner);
    }
    learned_ = std::move(learner);
    watch.raise();
  }

  estimator_options options_;
  std::unique_ptr<estimator> learned_;
};

py::list history_of(const python_estimator& x) {
  py::list result;
  for (const auto& row : x.learned().history())
    result.append(row_of(row));
  return result;
}

void translate(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const failure& error) {
    switch (error.code()) {
    case failure_code::bad_job:
    case failure_code::bad_data:
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
  py::register_exception_translator(&troupe::translate);
  py::class_<python_estimator>(module, "Estimator")
    .def(py::init(
      [](const py::kwargs& options) { return python_estimator{troupe::options_of(options)}; }))
    .def_static("load", &python_estimator::load, py::arg("path"))
    .def("fit_labels", &python_estimator::fit_labels, py::arg("features"), py::arg("labels"),
         py::arg("callbacks") = py::list())
    .def("fit_targets", &python_estimator::fit_targets, py::arg("features"), py::arg("targets"),
         py::arg("callbacks") = py::list())
    .def("predict", &python_estimator::predict, py::arg("features"))
    .def("save", &python_estimator::save, py::arg("path"), py::arg("classes") = py::none())
    .def("history", &troupe::history_of)
    .def_property_readonly("has_model", &python_estimator::has_model)
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
