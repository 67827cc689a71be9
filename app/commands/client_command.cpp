#include "app/client/federated_client.hpp"
#include "app/commands/commands.hpp"
#include "app/run/signals.hpp"
#include "app/terminal/output.hpp"

#include <chrono>
#include <thread>

namespace troupe {

namespace {

constexpr std::chrono::milliseconds signal_poll_interval{100};

} // namespace

int client_command(const client_arguments& arguments) {
  watch_stop_signals();
  client_options options;
  options.server = arguments.server;
  options.name = arguments.name;
  options.server_name = arguments.server_name;
  options.patience = std::chrono::seconds{arguments.patience};
  if (!arguments.certificate.empty())
    options.tls = tls_files{arguments.ca, arguments.certificate, arguments.key};
  if (!arguments.quiet)
    options.say = [](const std::string& text) { print_message(text + '\n'); };
  federated_client client{options};
  client.use_file(arguments.data, arguments.sets);
  std::jthread watch{[&](const std::stop_token& ended) {
    while (!ended.stop_requested() && stop_signal() == 0)
      std::this_thread::sleep_for(signal_poll_interval);
    client.stop();
  }};
  client.run();
  return stop_signal() != 0 ? 128 + stop_signal() : 0;
}

} // namespace troupe
