// Section model: what is trained.

#include "coordinators/job/keys/job_keys.hpp"
#include "coordinators/job/keys/key_limits.hpp"
#include "coordinators/job/keys/kind_types.hpp"
#include "models/kinds/added_tables.hpp"
#include "models/kinds/model_kinds.hpp"

namespace troupe {

namespace {

/// One name, or a list with one for each hidden layer.
class activation_type final : public type_for<activation_list> {
public:
  std::string words() const override {
    return choices_text(names_of<activation_kind>()) + ", or a list of these";
  }
  void read(activation_list& out, const toml_value& value, const std::string& path,
            complaints& found) const override {
    const auto* list = value.as<toml_value::list>();
    const auto before = found.size();
    std::vector<activation_kind> kinds;
    for (const auto& one : list ? *list : toml_value::list{value})
      choice_type<activation_kind>{}.read(kinds.emplace_back(), one, path, found);
    if (kinds.empty())
      found.push_back({path, value.at, "expected a name or a list of them, got an empty list",
                       "write activation = \"relu\""});
    if (found.size() == before)
      out = kinds;
  }
  std::optional<std::string> text(const activation_list& x) const override {
    const auto names = names_of(x.kinds());
    return names.size() == 1 ? toml_text(std::string_view{names.front()}) : toml_text(names);
  }
};

/// { OURS = "THEIRS", .. }
class tensor_names_type final : public type_for<tensor_names> {
public:
  std::string words() const override { return "table of strings"; }
  void read(tensor_names& out, const toml_value& value, const std::string& path,
            complaints& found) const override {
    const auto* table = value.as<toml_value::table>();
    if (!table) {
      found.push_back({path, value.at, "expected a table of names",
                       "write start_names = { \"layers.0.weight\" = \"fc1.weight\" }"});
      return;
    }
    const auto before = found.size();
    tensor_names result;
    for (const auto& [name, at, other] : *table) {
      result.emplace_back(name, std::string{});
      text_type{}.read(result.back().second, other, path + '.' + name, found);
    }
    if (found.size() == before)
      out = std::move(result);
  }
  std::optional<std::string> text(const tensor_names& x) const override {
    std::string result;
    for (const auto& [own, other] : x)
      result += (result.empty() ? "{ " : ", ") + toml_text(std::string_view{own}) + " = " +
                toml_text(std::string_view{other});
    return result.empty() ? "{}" : result + " }";
  }
};

using model_section = key_section<job, model_options>;

void add_start(model_section& model) {
  model
    .add(
      "start_from", &model_options::start_from,
      {"safetensors file of parameters that training begins from, this program's or PyTorch's; the "
       "path is relative to the file that names it",
       "none"})
    .as_file();
  model.add("start_fresh", &model_options::start_fresh,
            string_list("write start_fresh = [\"layers.2.*\"]"),
            {"start_from: tensors of the model that begin by the seed all the same", "none"});
  model.add("start_ignore", &model_options::start_ignore,
            string_list("write start_ignore = [\"fc.*\"]"),
            {"start_from: tensors of the file that are not used", "none"});
  model.add("start_names", &model_options::start_names, std::make_shared<tensor_names_type>(),
            {"start_from: the model's tensors and what the file calls them",
             "by equal names, else by shapes that one has"});
}

void add_loss(model_section& model) {
  model.add("loss", &model_options::loss,
            {"what training makes small",
             "by kind; a network's categorical-cross-entropy for classes, squared for numbers"});
  model.add("link", &model_options::link, "binary-cross-entropy: from score to probability");
  model.add("huber_threshold", &model_options::huber_threshold, above(0),
            {"huber: errors above it count linearly", "",
             "use the error from which a row counts as an outlier, such as 1"});
}

void add_layers(model_section& model) {
  model.add("bias", &model_options::bias, "false: no layer adds a bias");
  model.add("dropout", &model_options::dropout, from_to_below(0, 1),
            {"share of hidden units silenced in each step of training", "",
             "use a share of the hidden units such as 0.2"});
  model.add("cuts", &model_options::cuts, within(1, part_count_max),
            {"parts in which cut layers are computed, whoever computes them",
             "1, or for hidden layers of 1,024 units and more 2 to 8"});
  model.add(
    "cut", &model_options::cut,
    std::make_shared<list_type<layer_cut>>(
      type_of<layer_cut>(), "list, each " + choices_text(names_of<layer_cut>()), "names",
      "write cut = [\"outputs\", \"inputs\", \"none\"], one for each layer"),
    {"how each layer is cut; outputs are followed by inputs, or by nothing", "what costs least"});
  model.add("initialization", &model_options::initialization,
            {"of the weights; biases start at 0",
             "he if the first activation is relu or of its kin, else xavier"});
  model.add("initialization_scale", &model_options::initialization_scale, above(0),
            {"uniform: the limit; normal: the deviation", "", "use a number such as 0.05"});
}

} // namespace

void add_model_keys(job_key_rows& out, bool with_options) {
  model_section model{out, "model", &job::model};
  model.add("kind", std::make_shared<kind_type<model_options, model_kind, model_table>>(models()),
            "what is trained");
  model.add(
    "hidden", &model_options::hidden,
    whole_list(within(1, units_max), "write hidden = [64] for one hidden layer of 64 units"),
    "neural-network: units of each hidden layer");
  model.add("activation", &model_options::activation, std::make_shared<activation_type>(),
            "neural-network: of the hidden layers, one for all or one for each");
  add_loss(model);
  add_layers(model);
  add_start(model);
  if (with_options)
    add_options<model_table, job>(out, "model", models(),
                                  [](job& x) -> component& { return x.model.own; });
  if (with_options)
    add_options<loss_table, job>(out, "model", losses(),
                                 [](job& x) -> component& { return x.model.added; });
  if (with_options)
    add_options<activation_table, job>(out, "model", activations(),
                                       [](job& x) -> component& { return x.model.added; });
}

} // namespace troupe
