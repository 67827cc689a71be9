#include "app/run/run_description.hpp"

#include "actors/base/job_rows.hpp"
#include "actors/run/job_data.hpp"
#include "coordinators/job/private_job.hpp"
#include "coordinators/job/training_modes.hpp"
#include "data/text/number_text.hpp"
#include "data/text/shown_text.hpp"

#include "models/device/on_devices.hpp"
#include "models/network/chained_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <regex>
#include <variant>

namespace troupe {

namespace {

constexpr size_t holdings_shown_max = 10;
constexpr size_t classes_shown_max = 4;
constexpr size_t names_shown_max = 4;

/// More classes than this that are whole numbers deserve a warning, not a remark: grades and stars
/// go to ten.
constexpr size_t sure_class_count = 10;

/// Squared errors of such targets outgrow usual learning rates.
constexpr double large_target = 100;

std::string plural(uint64_t count, std::string_view what, std::string_view more = "s") {
  return std::to_string(count) + ' ' + std::string{what} + (count == 1 ? "" : std::string{more});
}

std::string listed(const std::vector<std::string>& names) {
  std::string result;
  for (size_t i = 0; i < std::min(names.size(), names_shown_max); ++i)
    result += (i == 0 ? "" : ", ") + shown_text(names[i]);
  return result + (names.size() > names_shown_max ? ", ..." : "");
}

/// "; begins from 'model.safetensors', 2 of 6 tensors by the seed; 200 parameters frozen".
std::string start_words(const job& x, const model& network) {
  std::string result;
  if (const auto& file = x.model.start_from; !file.empty()) {
    const auto& tensors = network.layout().tensors();
    const auto fresh = std::ranges::count_if(tensors, [&](const auto& tensor) {
      return std::ranges::any_of(x.model.start_fresh,
                                 [&](const auto& one) { return is_like(tensor.name, one); });
    });
    result = "; begins from " + shown_text(file) +
             (fresh > 0 ? ", " + std::to_string(fresh) + " of " + plural(tensors.size(), "tensor") +
                            " by the seed"
                        : "");
  }
  size_t frozen = 0;
  for (const auto& range : network.frozen())
    frozen += range.size();
  return result + (frozen > 0 ? "; " + plural(frozen, "parameter") + " frozen" : "");
}

/// Who holds what: "north.csv: 700 rows to train on, in 5 of 8 slices; 100 for testing".
std::vector<std::string> holding_texts(const std::vector<held_rows>& holdings,
                                       const timeline& plan) {
  std::vector<std::string> result;
  for (size_t i = 0; i < std::min(holdings.size(), holdings_shown_max); ++i) {
    const auto& name = holdings[i].name;
    const auto& size = holdings[i].size;
    const auto part = plan.has_held_steps()   ? plan.steps_of(i)
                      : plan.holdings.empty() ? plan.slice_count
                                              : plan.holdings[i].slices.size();
    auto what = shown_text(name) + ": " + plural(size.train, "row") + " to train on, in " +
                std::to_string(part) + " of " +
                (plan.has_held_steps() ? plural(plan.steps_in_epoch(), "step") + " an epoch"
                                       : plural(plan.slice_count, "slice"));
    if (size.validation > 0)
      what += "; " + std::to_string(size.validation) + " for validation";
    if (size.test > 0)
      what += "; " + std::to_string(size.test) + " for testing";
    result.push_back(std::move(what));
  }
  if (holdings.size() > result.size())
    result.push_back("and " + std::to_string(holdings.size() - result.size()) + " more");
  return result;
}

std::string device_choice(const job& resolved, const run_place& where) {
  const auto& nodes = where.cluster.nodes;
  const bool is_listed = where.own && *where.own < nodes.size();
  return device_choice(resolved, is_listed ? nodes[*where.own] : cluster_node{});
}

std::string device_text(const model& network, const std::string& choice) {
  std::string result;
  try {
    for (const auto& x : devices_for(network, choice))
      result += (result.empty() ? "" : ", ") + x.name + " (" + x.platform + ')';
  } catch (const device_error& problem) {
    return problem.what(); // the run will end with it
  }
  return result.empty() ? "none that computes this model: the processor does" : result;
}

class describer {
public:
  describer(const job& x, const prepared_data& data, size_t core_count, const run_place& where)
    : given_(x),
      where_(where),
      data_(data),
      shape_(shape_of(data)),
      resolved_(resolve(x, shape_, core_count)),
      plan_(timeline_of(resolved_, shape_)),
      is_guess_(!wants_classes(x.model)) {}

  run_description result() && {
    add("data", source() + ": " + rows());
    for (const auto& one : holding_texts(data_.holdings, timeline_of(resolved_, shape_)))
      add("holding", one);
    if (!data_.split_words.empty())
      add("split", data_.split_words);
    add("target",
        listed(data_.train.target_names) +
          (is_private(resolved_) ? "" : ": " + (shape_.classification ? classes() : numbers())));
    add("model", model());
    add("training", training());
    if (is_private(resolved_))
      add("privacy", privacy());
    add("memory", memory());
    if (const auto choice = device_choice(resolved_, where_); choice != processor_choice)
      add("device", device_text(*make_model(resolved_, shape_), choice));
    warn_of_parts();
    warn_of_rows();
    warn_of_row_names();
    warn_of_slices();
    if (given_.federated.has_port() && given_.federated.certificate.empty())
      warn(
        "federated.certificate: connections are not secured: whoever reaches the port can be any "
        "client, and read what clients send");
    if (!is_private(resolved_)) { // these look at values and counts of clients' rows
      warn_of_classes();
      warn_of_codes();
      warn_of_sorted_rows();
      warn_of_large_targets();
    }
    return std::move(result_);
  }

private:
  void add(std::string_view name, const std::string& what) {
    constexpr size_t name_columns = 10;
    result_.text += name;
    result_.text.append(name_columns - name.size(), ' ');
    result_.text += what + '\n';
  }

  void warn(std::string text) { result_.warnings.push_back(std::move(text)); }

  std::array<const dataset*, 3> parts() const {
    return {&data_.train, &data_.test, &data_.validation};
  }

  size_t row_count() const {
    return shape_.train_row_count + shape_.test_row_count + shape_.validation_row_count;
  }

  std::string source() const {
    if (!given_.data.file.empty()) {
      auto result = shown_text(given_.data.file);
      for (const auto& more : {given_.data.validation_file, given_.data.test_file})
        result += more.empty() ? "" : " and " + shown_text(more);
      return result;
    }
    if (given_.data.at_nodes)
      return "rows of the nodes";
    if (!given_.data.holdings.empty())
      return shown_text(given_.data.holdings);
    if (given_.federated.has_port())
      return "rows of the clients";
    if (given_.federated.partition == partition_kind::files)
      return shown_text(given_.federated.clients_from);
    return given_.data.synthetic == synthetic_kind::none ? "rows in memory" : "synthetic rows";
  }

  std::string rows() const {
    auto result =
      plural(row_count(), "row") + " of " + plural(shape_.feature_count, "feature") + "; " +
      (given_.federated.has_port() ? "theirs" : std::to_string(shape_.train_row_count)) +
      " to train on";
    if (shape_.validation_row_count > 0)
      result += ", " + std::to_string(shape_.validation_row_count) + " for validation";
    if (shape_.test_row_count > 0)
      result += ", " + std::to_string(shape_.test_row_count) + " for testing";
    if (shape_.sparse)
      result += "; sparse, " + plural(shape_.entry_count, "value") + " that are not 0";
    if (!data_.features.empty())
      result += shape_.sparse
                  ? "; scaled by each feature's largest magnitude, not centred: sparse rows "
                    "stay sparse"
                  : "; standardised";
    if (shape_.chunk_rows > 0)
      result += "; " + lanes();
    return result;
  }

  /// "in the file, by lanes, in windows of 4 chunks of 256 rows".
  std::string lanes() const {
    return std::string{data_.stays_in_file() ? "in the file, " : ""} + "by lanes, in windows of " +
           plural(window_chunks_of(resolved_), "chunk") + " of " + plural(shape_.chunk_rows, "row");
  }

  std::string classes() const {
    const auto& counts = shape_.class_rows;
    auto result = plural(counts.size(), "class", "es") + " (";
    for (size_t i = 0; i < std::min(counts.size(), classes_shown_max); ++i)
      result += (i == 0 ? "" : ", ") + shown_text(data_.train.classes[i]) + " in " +
                std::to_string(counts[i]) + (i == 0 ? " rows" : "");
    result += counts.size() > classes_shown_max ? ", ...)" : ")";
    return result + (has_guessed_classes() ? "; whole numbers, taken for classes: if they are "
                                             "amounts, set model.loss = \"squared\""
                                           : "");
  }

  bool has_guessed_classes() const {
    return is_guess_ && !is_text() && given_.data.synthetic == synthetic_kind::none &&
           std::ranges::all_of(data_.train.classes, [](const std::string& name) {
             double ignored = 0;
             return read_number(name, ignored) == number_status::number;
           });
  }

  std::string numbers() const {
    double least = shape_.target_minimum, most = least;
    bool whole = !data_.stays_in_file();
    if (data_.stays_in_file())
      most = data_.facts.target_maximum;
    for (const auto* part : parts())
      for (const auto value : part->targets) {
        most = std::max<double>(most, value);
        whole = whole && std::trunc(value) == value;
      }
    return fmt::format("numbers from {:.6g} to {:.6g}", least, most) +
           (whole && is_guess_ ? "; whole, taken for amounts: if they are classes, set "
                                 "model.loss = \"categorical-cross-entropy\""
                               : "") +
           scale();
  }

  /// "; learned as log, scaled to mean 0 and deviation 1".
  std::string scale() const {
    const auto kind = shape_.scale.kind;
    if (kind == target_scale_kind::none)
      return {};
    const bool transforms = kind != target_scale_kind::standardize;
    return "; learned " + (transforms ? "as " + std::string{name_of(kind)} + ", " : "") +
           "scaled to mean 0 and deviation 1 (data.target_scale): losses are of that, errors and "
           "predictions in the target's unit";
  }

  std::string model() const {
    const auto network = make_model(resolved_, shape_);
    auto result = kind_name(resolved_.model) + ' ' + std::to_string(shape_.feature_count);
    if (const auto* known = dynamic_cast<const chained_model*>(network.get())) {
      auto widths = known->chain().layer_widths();
      widths.pop_back();
      for (const auto width : widths)
        result += '-' + std::to_string(width);
    }
    return result + '-' + std::to_string(network->output_count()) + ", " +
           plural(network->layout().size(), "parameter") + "; " +
           std::string{name_of(*resolved_.model.loss)} + cuts() + start_words(given_, *network);
  }

  /// ", layers cut in 4: outputs inputs none".
  std::string cuts() const {
    if (*resolved_.model.cuts == 1)
      return {};
    auto result = ", layers cut in " + std::to_string(*resolved_.model.cuts) + ":";
    for (const auto cut : resolved_.model.cut)
      result += ' ' + std::string{name_of(cut)};
    return result;
  }

  /// "2 replicas", or "2 groups of 4 replicas (tensor 2, pipeline 2)" where they share a model.
  std::string replicas() const {
    const auto& split = resolved_.parallel;
    const auto groups = *resolved_.training.replicas;
    const bool take_turns = groups * split.group_size() > 1 && where_.cluster.nodes.empty() &&
                            threads_of(given_, shape_) == 1;
    const std::string turns = take_turns ? " on one thread" : "";
    if (split.group_size() == 1)
      return plural(groups, "replica") + (split.sharded ? ", fully sharded" : "") + turns;
    return plural(groups, "group") + " of " + plural(split.group_size(), "replica") + " (tensor " +
           std::to_string(split.tensor) + ", pipeline " + std::to_string(split.pipeline) + ")" +
           turns;
  }

  std::string training() const {
    const auto& x = resolved_.training;
    if (x.strategy == strategy_kind::federated)
      return federated() + ", " + replicas() + "; " + rule();
    auto result = plural(plan_.last_version(), "step") + " of " + plural(x.batch_size, "row") +
                  ", " + std::to_string(plan_.steps_in_epoch()) + " an epoch; ";
    if (x.strategy == strategy_kind::parameters)
      result += plural(*x.members, "member") + " apart for " + plural(*x.local_steps, "step");
    else
      result += plural(*x.slices, "slice") + ", " + std::string{name_of(x.consistency)};
    return result + ", " + replicas() + "; " + rule();
  }

  /// "100 rounds of 10 of 100 clients, 1 local epoch in steps of 32 rows".
  std::string federated() const {
    const auto& x = resolved_.federated;
    return plural(plan_.last_version(), "round") + " of " + std::to_string(x.cohort) +
           (given_.federated.has_port() ? " clients that dial in at " + x.listen
                                        : " of " + plural(x.clients, "client")) +
           ", " +
           (x.local_steps ? plural(*x.local_steps, "local step")
                          : plural(x.local_epochs.value_or(1), "local epoch")) +
           " in steps of " + plural(resolved_.training.batch_size, "row");
  }

  /// "clipped to 1, noise 1.1, Poisson sampling of 0.1; epsilon 2.44 at delta 1e-05 after 100 rounds".
  std::string privacy() const {
    const auto budget = budget_of(resolved_);
    const auto rounds = budget.epsilon ? release_count_within(*budget.epsilon, budget.delta,
                                                              budget.kind, plan_.last_version())
                                       : plan_.last_version();
    privacy_accountant accountant{budget.delta};
    accountant.add(budget.kind, rounds);
    return fmt::format("clipped to {:.6g}, noise {:.6g}, ", *resolved_.privacy.clip_norm,
                       budget.kind.noise) +
           (resolved_.federated.sampling == client_sampling::poisson
              ? fmt::format("secret Poisson sampling of {:.4g}", budget.kind.sampling_rate)
              : "accounted as if all clients took part") +
           fmt::format("; epsilon {:.4g} at delta {:.3g} after ", accountant.epsilon(),
                       budget.delta) +
           plural(rounds, "round");
  }

  std::string rule() const {
    auto result = kind_name(resolved_.optimizer);
    if (const auto rate = resolved_.optimizer.learning_rate)
      result += " at " + fmt::format("{:.6g}", *rate);
    const auto kind = resolved_.optimizer.schedule.kind;
    if (kind != schedule_kind::constant)
      result += ", " + std::string{name_of(kind)};
    const auto& plateau = resolved_.optimizer.plateau;
    if (plateau.is_on())
      result += fmt::format(", times {:.6g}", plateau.factor);
    if (plateau.patience)
      result += " where the loss stands still for " + plural(*plateau.patience, "evaluation");
    if (is_added(plateau.rule))
      result += std::string{plateau.patience ? ", or" : ""} + " where " +
                std::string{name_of(plateau.rule)} + " says so";
    return result;
  }

  std::string memory() const {
    const auto plan =
      memory_plan_of(resolved_, shape_, {1, where_.cluster.nodes, where_.cluster.recovery});
    const auto& need = plan.at(where_.own.value_or(0)).memory;
    return "about " + bytes_text(need.to_come()) + " to train, " +
           bytes_text(need.of(memory_cause::data)) + " of data";
  }

  void warn_of_part(const char* key, double fraction, size_t count, const char* use) {
    if (fraction > 0 && count == 0)
      warn(fmt::format("{}: {:.6g} of ", key, fraction) + plural(row_count(), "row") +
           " is less than one: there are no rows for " + use);
  }

  void warn_of_parts() {
    warn_of_part("data.test_fraction", given_.data.test_fraction, shape_.test_row_count, "testing");
    warn_of_part("data.validation_fraction", given_.data.validation_fraction,
                 shape_.validation_row_count, "validation");
  }

  void warn_of_classes() {
    if (has_guessed_classes() && data_.train.classes.size() > sure_class_count)
      warn("model.loss: the target's " + std::to_string(data_.train.classes.size()) +
           " whole numbers are learned as classes: if they are amounts, set model.loss = "
           "\"squared\"");
    for (size_t i = 0; i < shape_.class_counts.size(); ++i)
      if (shape_.class_counts[i] == 0 && !given_.federated.has_port())
        return warn("the class " + shown_text(data_.train.classes[i]) +
                    " has no row to train on: use " +
                    (is_text() ? "a longer text" : "more rows, or another job.seed to split them"));
  }

  bool is_text() const { return given_.data.format == file_format::text; }

  /// An embedding of fewer codes than there are characters takes all others for one.
  void warn_of_codes() {
    const auto layers = given_.model.own.options.find("layers");
    if (!is_text() || layers == given_.model.own.options.end())
      return;
    const auto* text = std::get_if<std::string>(&layers->second);
    static const std::regex categories{"embedding[^;\n}]*categories *= *([0-9]{1,9})"};
    std::smatch found;
    if (text && std::regex_search(*text, found, categories) &&
        std::stoul(found[1]) < data_.train.classes.size())
      warn("model.layers: the text has " + std::to_string(data_.train.classes.size()) +
           " characters, and an embedding of " + found[1].str() +
           " takes those beyond for one: set categories=" +
           std::to_string(data_.train.classes.size()));
  }

  /// Lanes shuffle within windows: a file in order of its classes is trained on class by class.
  void warn_of_sorted_rows() {
    if (shape_.chunk_rows == 0 || plan_.batch_size == plan_.row_count)
      return;
    const auto rows =
      data_.stays_in_file()
        ? data_.stored.train
        : std::make_shared<rows_in_memory>(
            std::shared_ptr<const dataset>{&data_.train, [](const auto*) {}}, data_.chunk_begins);
    const auto missed = class_missed_by_windows(
      *rows, {given_.seed, plan_, data_.chunk_begins, window_chunks_of(resolved_)},
      shape_.class_counts);
    if (missed)
      warn("data.shuffle: of the class " + shown_text(data_.train.classes[missed->number]) +
           " the first windows have " + std::to_string(missed->found) + " rows where " +
           std::to_string(missed->expected) +
           " would be there by chance: the rows look sorted, and training in their order is worse; "
           "shuffle them once (troupe data convert --shuffle), or make data.window_rows larger");
  }

  void warn_of_rows() {
    for (const auto& remark : data_.remarks)
      warn(remark);
  }

  void warn_of_row_names() {
    if (!data_.row_names.empty())
      warn("the features " + listed(data_.row_names) +
           " look like numbers or names of rows, which tell nothing of other rows: remove them "
           "from the file unless they are measures");
  }

  /// Unscaled: a network's outputs begin near 0, and the steps of squared errors are as large as its errors.
  void warn_of_large_targets() {
    if (resolved_.model.kind != model_kind::neural_network || resolved_.model.own.is_set() ||
        shape_.classification || *resolved_.model.loss != loss_kind::squared ||
        !shape_.scale.is_none())
      return;
    double most = data_.stays_in_file() ? std::max(std::abs(data_.facts.target_minimum),
                                                   std::abs(data_.facts.target_maximum))
                                        : 0;
    for (const auto value : data_.train.targets)
      most = std::max<double>(most, std::abs(value));
    if (most > large_target)
      warn(
        fmt::format("the target goes up to {:.6g}: a network's steps are as large as its errors, "
                    "and with such amounts it diverges: set data.target_scale = \"standardize\"",
                    most));
  }

  void warn_of_slices() {
    if (plan_.slice_count > plan_.batch_size)
      warn("training.slices: of " + std::to_string(plan_.slice_count) + " slices " +
           std::to_string(plan_.slice_count - plan_.batch_size) + " have no rows in steps of " +
           plural(plan_.batch_size, "row"));
    if (has_server(given_.training) && given_.training.strategy == strategy_kind::gradients &&
        given_.training.slices.value_or(1) > 1)
      warn("training.slices: " + std::to_string(*given_.training.slices) +
           " do not count: in asynchronous training a replica computes whole steps");
  }

  const job& given_;
  const run_place& where_;
  const prepared_data& data_;
  data_shape shape_;
  job resolved_;
  timeline plan_;
  bool is_guess_; ///< the job does not say whether targets are classes
  run_description result_;
};

} // namespace

run_description describe_run(const job& x, const prepared_data& data, size_t core_count,
                             const run_place& where) {
  return describer{x, data, core_count, where}.result();
}

} // namespace troupe
