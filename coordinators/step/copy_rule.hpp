// Copy rule: which versions an owner of a span copies for its deputies, and when (coordinators/membership/cut_rule.hpp).
//
//   version is made --is it copied?--> no: announced
//                           | yes      the last copy has come: copied, announced
//                           +--------> the last copy is under way: waits, `on_saved` lets it go on

#pragma once

#include <cstdint>
#include <optional>
#include <utility>

namespace troupe {

class copy_rule {
public:
  copy_rule() = default;
  /// A term begins: at this version, with copies so many steps apart; 0: there are none.
  copy_rule(uint64_t start_version, uint64_t every)
    : start_version_(start_version), every_(every) {}

  /// The version that was just made is to be copied, and is not yet. The initial parameters follow from the job.
  bool is_due(uint64_t version) const {
    return every_ > 0 && version > 0 && version != copied_ &&
           (version % every_ == 0 || version == start_version_);
  }
  /// False while the last copy is under way: then the version waits.
  bool may_copy() {
    is_waited_for_ = under_way_.has_value();
    return !is_waited_for_;
  }
  void on_copied(uint64_t version) { under_way_ = copied_ = version; }
  /// All deputies have the copy of this version. True if a version has waited for that.
  bool on_saved(uint64_t version) {
    if (under_way_ != version)
      return false;
    under_way_.reset();
    return std::exchange(is_waited_for_, false);
  }
  /// The newest version is not announced yet.
  bool waits() const { return is_waited_for_; }

private:
  uint64_t start_version_ = 0;
  uint64_t every_ = 0;
  uint64_t copied_ = 0;
  std::optional<uint64_t> under_way_;
  bool is_waited_for_ = false;
};

} // namespace troupe
