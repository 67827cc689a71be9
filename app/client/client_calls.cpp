// The functions of libtroupe_client.so: a federated_client behind plain C. No exception leaves them.

#include "app/client/federated_client.hpp"
#include "app/toml/parse_toml.hpp"
#include "data/text/failure.hpp"
#include "models/keys/key_table.hpp"
#include "troupe/client.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <sstream>
#include <utility>
#include <variant>

struct troupe_client {
  std::optional<troupe::federated_client> client; ///< none: it could not be opened, for this reason
  int code = 0;
  std::string error, table;
};

namespace troupe {

namespace {

struct client_settings {
  std::string name, server_name;
  tls_files tls;
  uint64_t patience = 3600; ///< seconds
};

const std::vector<key_row<client_settings>>& setting_keys() {
  static const auto keys = [] {
    using x = client_settings;
    std::vector<key_row<x>> out;
    key_section<x> all{out, "", [](x& y) -> x& { return y; }};
    all.add("name", &x::name, "the client's name");
    all.add("server_name", &x::server_name, "what the server's certificate proves");
    all.add("patience", &x::patience, within(0, 1'000'000'000), "seconds without a server");
    const auto tls = all.within(&x::tls);
    auto files = tls;
    files.add("ca", &tls_files::authority, "the authority's certificate, a file");
    files.add("certificate", &tls_files::certificate, "the client's, a file");
    files.add("key", &tls_files::key, "of the certificate, a file");
    return out;
  }();
  return keys;
}

client_settings settings_of(const std::string& text) {
  const auto parsed = parse_toml(text);
  if (const auto* problem = std::get_if<toml_problem>(&parsed))
    throw failure(failure_code::usage, problem->why, "the client's settings");
  client_settings result;
  reading read;
  read_table(setting_keys(), "", "", std::get<toml_value::table>(parsed), result, read);
  if (!read.found.empty())
    throw failure(failure_code::usage, read.found.front().why, read.found.front().key,
                  read.found.front().hint);
  return result;
}

client_options options_of(const char* server, const char* settings, troupe_say say, void* context) {
  if (!server)
    throw failure(failure_code::usage, "a client needs the address of its server", {},
                  "open(\"host:port\", ..)");
  const auto set = settings_of(settings ? settings : "");
  client_options result{server, set.name, {}, set.server_name, std::chrono::seconds{set.patience},
                        {}};
  if (const auto& [certificate, key, authority] = set.tls;
      !certificate.empty() || !key.empty() || !authority.empty()) {
    if (certificate.empty() || key.empty() || authority.empty())
      throw failure(failure_code::usage, "a secured connection needs ca, certificate and key",
                    "the client's settings", "give all three");
    result.tls = set.tls;
  }
  if (say)
    result.say = [=](const std::string& text) { say(context, text.c_str()); };
  return result;
}

int note(troupe_client& x, int code, const char* what) {
  x.error = what;
  return x.code = code;
}

/// Does it, and keeps what it throws. The exit code.
template <class Work>
int attempt(troupe_client* x, Work work) noexcept {
  if (!x)
    return static_cast<int>(failure_code::usage);
  try {
    if (!x->client && x->code != 0)
      return x->code;
    x->error.clear();
    work(*x);
    return 0;
  } catch (const failure& problem) {
    return note(*x, static_cast<int>(problem.code()), problem.what());
  } catch (const std::bad_alloc&) {
    return note(*x, static_cast<int>(failure_code::bad_job),
                "no memory"); // a short text: no allocation
  } catch (const std::exception& problem) {
    return note(*x, static_cast<int>(failure_code::internal), problem.what());
  } catch (...) {
    return note(*x, static_cast<int>(failure_code::internal), "an error of no known kind");
  }
}

troupe_client* open(const char* server, const char* settings, troupe_say say, void* context) {
  auto* result = new (std::nothrow) troupe_client;
  attempt(result,
          [&](troupe_client& x) { x.client.emplace(options_of(server, settings, say, context)); });
  return result;
}

const char* table(troupe_client* client) {
  const auto code = attempt(client, [](troupe_client& x) {
    const auto known = x.client->table();
    if (known.parameter_count == 0)
      throw failure(failure_code::interrupted, "stopped");
    x.table = nlohmann::json{{"parameters", known.parameter_count},
                             {"feature_count", known.form.feature_count},
                             {"features", known.form.feature_names},
                             {"classes", known.form.classes},
                             {"targets", known.form.target_names}}
                .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  });
  return code == 0 ? client->table.c_str() : nullptr;
}

int file(troupe_client* client, const char* path, const char* sets) {
  return attempt(client, [&](troupe_client& x) {
    if (!path)
      throw failure(failure_code::usage, "there is no path", {},
                    "file(client, \"rows.csv\", NULL)");
    std::vector<std::string> lines;
    std::istringstream text{sets ? sets : ""};
    for (std::string line; std::getline(text, line);)
      if (!line.empty())
        lines.push_back(line);
    x.client->use_file(path, std::move(lines));
  });
}

/// Rows of numbers as a data set of this form.
dataset rows_of_form(const dataset& form, size_t row_count, const std::vector<float>& features,
                     const std::vector<float>& targets) {
  const auto features_each = features.size() / row_count, targets_each = targets.size() / row_count;
  const size_t wanted = form.is_classification() ? 1 : form.target_count;
  if (features_each != form.feature_count || targets_each != wanted)
    throw failure(failure_code::bad_data,
                  "the rows have " + std::to_string(features_each) + " features and " +
                    std::to_string(targets_each) + " targets, and the server's " +
                    std::to_string(form.feature_count) + " and " + std::to_string(wanted),
                  "the application's rows", "ask the server for its features: table");
  if (form.is_sparse())
    throw failure(failure_code::bad_data, "the server's rows are sparse", "the application's rows",
                  "give them in a file: file");
  dataset result = form;
  result.row_count = row_count;
  result.features = features;
  if (!form.is_classification()) {
    result.targets = targets;
    return result;
  }
  for (size_t i = 0; i < row_count; ++i) {
    if (!(targets[i] >= 0 && targets[i] < static_cast<float>(form.classes.size())) ||
        targets[i] != std::floor(targets[i]))
      throw failure(failure_code::bad_data,
                    "row " + std::to_string(i) + " has no class of the server's " +
                      std::to_string(form.classes.size()) + ": its number is " +
                      std::to_string(targets[i]),
                    "the application's rows", "count classes from 0, in the table's order");
    result.labels.push_back(static_cast<int32_t>(targets[i]));
  }
  return result;
}

int rows(troupe_client* client, const float* features, uint64_t row_count, uint64_t feature_count,
         const float* targets, uint64_t target_count) {
  return attempt(client, [&](troupe_client& x) {
    constexpr uint64_t values_max = uint64_t{1} << 40;
    if (!features || !targets || row_count == 0 || feature_count == 0 || target_count == 0 ||
        row_count > std::numeric_limits<uint32_t>::max() ||
        feature_count > values_max / row_count || target_count > values_max / row_count)
      throw failure(failure_code::usage, "these are no rows", "rows",
                    "give row_count x feature_count numbers, and row_count x target_count");
    const std::vector<float> values{features, features + row_count * feature_count};
    const std::vector<float> own{targets, targets + row_count * target_count};
    x.client->use_rows(
      [=](const dataset& form) { return rows_of_form(form, row_count, values, own); });
  });
}

/// An order as C has it, and whom it asks.
struct asked_order : troupe_order {
  const own_order* own = nullptr;
};

int stop_of(const troupe_order* order) {
  return static_cast<const asked_order*>(order)->own->stop_requested() ? 1 : 0;
}

int trainer(troupe_client* client, troupe_trainer train, void* context) {
  return attempt(client, [&](troupe_client& x) {
    if (!train)
      throw failure(failure_code::usage, "there is no trainer", {}, "give a function");
    x.client->train_by([=](const own_order& own) {
      asked_order order{{own.round, own.start.size(), own.start.data(), stop_of}, &own};
      own_update result;
      result.values.assign(own.start.size(), std::numeric_limits<float>::quiet_NaN());
      troupe_update update{result.values.data(), 0, 0, 0};
      if (const auto code = train(context, &order, &update); code != 0)
        throw failure(failure_code::internal,
                      "the client's own training ended with " + std::to_string(code));
      if (update.values != result.values.data())
        throw failure(failure_code::usage, "the trainer has replaced the place of its values", {},
                      "write the model into update->values");
      result.rows = update.rows;
      result.loss = update.loss;
      result.correct = update.correct;
      return result;
    });
  });
}

int run(troupe_client* client) {
  return attempt(client, [](troupe_client& x) { x.client->run(); });
}

void stop(troupe_client* client) {
  if (client && client->client)
    client->client->stop();
}

const char* error(const troupe_client* client) {
  return client ? client->error.c_str() : "";
}

void close(troupe_client* client) {
  delete client;
}

} // namespace

} // namespace troupe

extern "C" const struct troupe_client_functions* troupe_client_calls(uint32_t version) {
  using namespace troupe;
  static constexpr struct troupe_client_functions calls {
    open, table, file, rows, trainer, run, stop, error, close
  };
  return version == 1 ? &calls : nullptr;
}
