// Readmission: when a process that was taken out of the run may take part again.
//
// Two processes that cannot reach each other both reach the director, so the one that was taken out
// joins anew at once. Admitted at once, it would get work, the others would wait for it until it is
// taken out again, and so on for ever: training would stand still most of the time. So it stays out
// for a while, twice as long each time; who has then been in for as long as it was out is trusted
// again.

#pragma once

#include "troupe/coordinators/base/moment.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace troupe {

class readmission {
public:
  readmission() = default;
  readmission(milliseconds wait_min, milliseconds wait_max)
    : wait_min_(wait_min), wait_max_(std::max(wait_min, wait_max)) {}

  void on_taken_out(const std::string& name, moment now) {
    auto& last = last_[name];
    const bool is_trusted = last.wait == milliseconds{0} || now - last.until >= last.wait;
    last.wait = is_trusted ? wait_min_ : std::min(2 * last.wait, wait_max_);
    last.until = now + last.wait;
  }

  bool may_join(const std::string& name, moment now) const {
    const auto last = last_.find(name);
    return last == last_.end() || now >= last->second.until;
  }

  friend bool operator==(const readmission&, const readmission&) = default;

private:
  struct absence {
    milliseconds wait{0};
    moment until{};
    friend bool operator==(const absence&, const absence&) = default;
  };
  milliseconds wait_min_{0};
  milliseconds wait_max_{0};
  std::map<std::string, absence> last_;
};

} // namespace troupe
