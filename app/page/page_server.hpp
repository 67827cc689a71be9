// Serves the page of a run on a thread of its own, until it is destroyed.
//
// One thread polls a listener and at most 64 connections. Each connection has one request, one answer
// and a deadline for both, the TLS handshake included. No visitor can hold anything that training
// needs. page_answer.hpp makes the answers. The server serves an address that other machines can reach
// with TLS and to visitors with a token, or not at all.

#pragma once

#include "actors/net/socket/endpoint.hpp"
#include "app/page/page_feed.hpp"
#include "app/page/page_place.hpp"

#include <memory>
#include <string>
#include <vector>

namespace troupe {

struct training_status; // actors/protocol/status_messages.hpp

class page_server {
public:
  static constexpr size_t connections_max = 64;
  /// For a request to come, and for its answer to go.
  static constexpr milliseconds visit_time_max{5'000};

  /// The address is empty (127.0.0.1 at the usual port, 7465 or one of the nine after it), "PORT" or "HOST:PORT"; port
  /// 0 takes any that is free. Throws failure: usage for another address; cannot_create when the port is in use;
  /// no_permission when others could reach it and TLS or the token is missing; for their files as read_or_make_key
  /// (data/privacy/key_file.hpp) and load_tls_for_anyone (tls_identity.hpp).
  page_server(const page_place& where, std::shared_ptr<const page_feed> feed);
  ~page_server();
  page_server(const page_server&) = delete;
  page_server& operator=(const page_server&) = delete;

  /// For people: "http://127.0.0.1:7465/". With a token that was made just now it ends with #key=TOKEN.
  /// The page reads the token there; no browser sends what follows a #.
  std::string address() const { return address_; }

private:
  class loop;
  std::string address_;
  std::unique_ptr<loop> loop_;
};

/// The page of a run that this process trains: the server, and the feed that training fills.
class live_page {
public:
  /// Serves at `where`, beginning with the rows and rounds of a run that goes on. Throws as
  /// page_server does.
  live_page(const page_place& where, const std::string& job_name,
            const std::vector<history_row>& rows, const std::vector<round_record>& rounds);

  void show(const training_status& status);
  void show_row(const history_row& row) { feed_->add_row(row); }
  void show_rounds(const std::vector<round_record>& rounds) { feed_->add_rounds(rounds); }
  void show_event(const std::string& line);
  std::string address() const { return server_.address(); }

private:
  std::shared_ptr<page_feed> feed_;
  page_server server_;
};

} // namespace troupe
