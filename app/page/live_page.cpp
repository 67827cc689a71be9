#include "troupe/app/page/live_page.hpp"

#include "troupe/actors/net/gate/visit.hpp"
#include "troupe/app/page/unix_time.hpp"

namespace troupe {

live_page::live_page(const page_place& where, const std::string& job_name,
                     const std::vector<history_row>& rows, const std::vector<round_record>& rounds)
  : feed_(std::make_shared<page_feed>(job_name, page_source::live)), server_(where, feed_) {
  for (const auto& row : rows)
    feed_->add_row(row);
  feed_->add_rounds(rounds);
}

void live_page::show(const training_status& status) {
  feed_->set_status(status_json(status), unix_seconds());
}

void live_page::show_event(const std::string& line) {
  feed_->add_event(line, unix_seconds());
}

} // namespace troupe
