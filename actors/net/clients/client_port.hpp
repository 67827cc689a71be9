// Client port: where the clients of a federated run dial in. One thread that listens, reads and writes frames without
// blocking, and adds clients' updates to exact sums as they come. Which client is told what, and whose update counts, is
// the round server's to decide (coordinators/clients/round_server.hpp).
//
//   trainer --open: round, model--> client port ==> clients
//   trainer <--gathered round------      |
//                                   round server (decides), ring sums (of each group)
//
// A client costs the server its connection; only updates for which there is a place are received, so at most so many
// models are in memory at a time.

#pragma once

#include "actors/net/clients/frame_line.hpp"
#include "actors/net/clients/round_sums.hpp"
#include "actors/net/socket/endpoint.hpp"
#include "actors/net/socket/tls_identity.hpp"
#include "coordinators/clients/round_server.hpp"
#include "coordinators/links/rate_limit.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace troupe {

struct client_port_options {
  endpoint listen;
  std::optional<tls_files> tls; ///< nothing: connections are plain, and names are not proven
  std::string denied_file;      ///< of names that are refused, one a line; empty: none
  round_server_options server;
  federated_options rules;
  ring_bounds sums;    ///< of a group
  std::string reading; ///< how rows are read (reading_text of data/training_rows/row_table.hpp)
  std::string job;     ///< what clients do (client_job_text)
  size_t parameter_count = 0;
  bool hides_work = false; ///< what clients do would tell of a private run's draws
};

class client_port {
public:
  /// Listens from now on. Throws failure as listen_on, load_tls and the list of refused names do.
  explicit client_port(client_port_options options);
  ~client_port();
  client_port(const client_port&) = delete;
  client_port& operator=(const client_port&) = delete;

  /// Opens a round, whose clients start from this model. `coin`: as of present_round. `done` is called once, on the
  /// port's thread.
  void open(uint64_t round, const_buffer start, client_coin coin,
            std::function<void(gathered_round)> done);
  /// The open round waits for nobody any more.
  void hurry();
  /// Of a tenth of a second ago, at most. Thread-safe.
  client_presence presence() const;
  /// Tells all clients that there is no more to do, with an exit code for them, and takes no more of them.
  void end(int code, const std::string& why);

private:
  struct connection {
    frame_line line;
    bool is_securing = false;
    bool waits_to_write = false;
    bool reads = true;
    bool has_plan = false;
    std::optional<moment> closes_at{}; ///< it was told that it is over
  };

  void run();
  bool carry_out_commands();
  void wait();
  void accept_all(moment now);
  void listen(bool listens);
  void on_ready(uint64_t ticket, moment now);
  bool secure(uint64_t ticket);
  void on_frame(uint64_t ticket, const client_frame& x, moment now);
  void on_report(uint64_t ticket, const client_frame& x, moment now);
  void take_update(uint64_t ticket, const client_frame& x, moment now);
  void carry_out_actions(moment now);
  void carry_out(const client_action& x, moment now);
  void close_round_if_over(moment now);
  void read_denied(bool must);
  void watch(uint64_t ticket, bool writes);
  void drop(uint64_t ticket);
  void post(std::function<void()> command);
  void publish_presence();

  client_port_options options_;
  std::optional<tls_identity> identity_;
  owned_socket listener_, poller_, waker_;
  std::string plan_hash_;
  round_server server_;
  std::map<uint64_t, connection> connections_;
  std::map<uint64_t, std::string> announced_; ///< digests of updates, by ticket
  uint64_t last_ticket_ = 0;
  rate_limit accepts_{300, 300};
  moment ticked_{};
  std::vector<uint64_t> again_; ///< tickets of which more may have come
  round_sums sums_;
  std::function<void(gathered_round)> done_;
  client_presence so_far_; ///< sums, of connections that have ended
  struct {
    mutable std::mutex mutex; ///< guards the others
    std::vector<std::function<void()>> commands;
    client_presence presence;
  } shared_;
  bool is_stopping_ = false;
  std::thread thread_;
};

} // namespace troupe
