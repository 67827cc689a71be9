#include "troupe/actors/run/status_watch.hpp"

#include "troupe/actors/protocol/messages.hpp"
#include "troupe/actors/protocol/status_messages.hpp"

#include <utility>

namespace troupe {

status_watch::status_watch(caf::scoped_actor& self, director_actor director,
                           std::function<void(const training_status&)> tell)
  : self_(self), director_(std::move(director)), tell_(std::move(tell)) {}

void status_watch::tick() {
  if (moment::clock::now() >= next_)
    ask();
}

void status_watch::ask() {
  if (!tell_)
    return;
  self_->request(director_, answer_time_max, atom::status_v)
    .receive([this](const training_status& x) { tell_(x); },
             [](const caf::error&) {}); // whoever waits hears of a lost director itself
  next_ = moment::clock::now() + interval;
}

} // namespace troupe
