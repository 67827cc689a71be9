// The page of a run that this process trains: the server, and what it is told while training lasts.

#pragma once

#include "troupe/app/page/page_server.hpp"

#include <memory>
#include <string>
#include <vector>

namespace troupe {

struct training_status; // actors/protocol/status_messages.hpp

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
