// Member coordinator: one main model that members with rows of their own move, by gradients or by models that they trained,
// and who takes part. Members come and go at any time; each is known by its name.
//
//   join: name            -> membership: a number, and a life of its own after each start
//   pull: membership      -> go (a ticket, parameters), wait (ask again), join again, or over
//   take: ticket, values  -> applied, held for its round, refused, or join again
//
// A ticket is of one life and one update: an update counts once, or not at all, and the last one is answered alike when it
// comes twice. While others wait, a member has `patience` for its update, and as long for its next pull. Then the others go
// on without it; its late update is refused, and with its next pull it takes part again.
//
// What is done with gradients decides asynchronous_coordinator, with models parameters_coordinator.

#pragma once

#include "coordinators/base/moment.hpp"
#include "coordinators/modes/asynchronous_coordinator.hpp"
#include "coordinators/modes/parameters_coordinator.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace troupe {

struct member_coordinator_options {
  /// How gradients, or how models count; of the first trainer_count is not used: members come and go.
  std::variant<asynchronous_options, parameters_coordinator_options> rule;
  size_t members_min = 1; ///< before so many have been there together nobody gets work
  size_t members_max = 1'000;
  /// Twice as long: members may be half as fast, and others wait twice as long for one that stands still.
  milliseconds patience{30'000};

  bool takes_gradients() const { return rule.index() == 0; }
};

/// A member's place, in one of its lives.
struct membership {
  uint64_t member = 0;
  uint64_t life = 0;
  bool sends_gradients = true;  ///< sums over samples; else parameters
  uint64_t parameter_count = 0; ///< P

  friend bool operator==(const membership&, const membership&) = default;
};

enum class work_verdict : uint8_t { go, wait, join_again, over };

template <>
struct name_table<work_verdict> {
  static constexpr std::array entries{
    named(work_verdict::go, "go"), named(work_verdict::wait, "wait"),
    named(work_verdict::join_again, "join-again"), named(work_verdict::over, "over")};
};

struct member_task {
  work_verdict verdict = work_verdict::over;
  std::string reason;   ///< of all but `go`
  uint64_t ticket = 0;  ///< hand it back with the update
  uint64_t version = 0; ///< updates, or rounds, so far
  const_buffer parameters;
};

/// `late`: too many updates of others came first, or they went on without it; nothing is wrong with it.
enum class member_verdict : uint8_t { applied, held, late, refused, join_again };

template <>
struct name_table<member_verdict> {
  static constexpr std::array entries{
    named(member_verdict::applied, "applied"), named(member_verdict::held, "held"),
    named(member_verdict::late, "late"), named(member_verdict::refused, "refused"),
    named(member_verdict::join_again, "join-again")};
};

/// What became of an update.
struct update_report {
  member_verdict verdict = member_verdict::refused;
  std::string reason;     ///< of all but `applied`
  uint64_t staleness = 0; ///< of a gradient: updates by other members since its pull
  uint64_t version = 0;   ///< updates, or rounds, so far

  friend bool operator==(const update_report&, const update_report&) = default;
};

class member_coordinator {
public:
  /// From these parameters (P) on. `incarnation`: lives of earlier coordinators of this name are none of its. Throws
  /// std::invalid_argument for options out of range, no parameters, or one that is not finite.
  member_coordinator(const member_coordinator_options& options, const const_buffer& initial,
                     uint64_t incarnation);

  /// Nothing: there are `members_max`. Who was there under this name has ended. The place of one that has left, and does
  /// not come again before there are so many names, is another's.
  std::optional<membership> join(const std::string& name, moment now);
  /// The member's process has ended; of an earlier life nothing happens.
  void leave(const membership& who);
  /// Asked twice it gives the same ticket.
  member_task pull(const membership& who, moment now);
  update_report take(const membership& who, uint64_t ticket, const const_buffer& values,
                     uint64_t sample_count, moment now);
  /// Passes over members who held up others for too long, and ends rounds whose time is over.
  void on_time(moment now);
  /// Models that are held count. Nobody gets work any more: members end, or ask once more when they have heard it.
  void stop();

  /// Members who waited and may pull now; each is named once.
  std::set<uint64_t> take_released() { return std::exchange(released_, {}); }

  const_buffer parameters() const;
  uint64_t version() const { return base_version_ + own_version(); }
  size_t living_count() const; ///< members who take part
  const std::string& name_of(uint64_t member) const { return members_.at(member).name; }

  /// All that is to be remembered beside the parameters; `load` goes on from there, at this version. What is held by a round
  /// of models is not: it is trained anew.
  void save(state_saver& out) const;
  /// What `save` gives, for these options.
  state_shape shape() const;
  /// Throws std::invalid_argument for parameters or a state of another size.
  void load(const const_buffer& parameters, uint64_t version, state_loader& in);

private:
  struct member_state {
    std::string name;
    uint64_t life = 0;
    bool lives = false;
    bool passed_over = false;
    bool was_told = false;             ///< that it is over
    uint64_t ticket = 0;               ///< open; 0: none
    moment since{};                    ///< nothing was heard of it, or its ticket is out
    std::optional<uint64_t> held_in{}; ///< the round that its model waits for
    uint64_t last_ticket = 0;
    update_report last_report{};
  };

  /// Null: it is none, or an earlier life.
  member_state* find(const membership& who);
  void begin(const const_buffer& parameters);
  uint64_t own_version() const;
  uint64_t closed_rounds() const;
  /// Whether it is to wait for others, and why.
  std::string reason_to_wait(const member_state& x) const;
  void take_part(uint64_t member);
  void lose(uint64_t member);
  /// The number for a new name; nothing: there are `members_max`.
  std::optional<uint64_t> free_place() const;
  update_report take_gradient(uint64_t member, uint64_t ticket, const const_buffer& values,
                              uint64_t sample_count);
  update_report take_model(uint64_t member, const const_buffer& values, uint64_t sample_count,
                           moment now);
  void release(const std::vector<size_t>& members);
  /// A round has ended, or it has begun: whoever waited may ask.
  void release_all();

  member_coordinator_options options_;
  std::optional<asynchronous_coordinator> gradients_;
  std::optional<parameters_coordinator> models_;
  std::vector<member_state> members_;
  std::map<std::string, uint64_t, std::less<>> by_name_;
  std::set<uint64_t> waiting_, released_;
  moment now_{}; ///< of the last call that said it
  uint64_t next_life_;
  uint64_t next_ticket_ = 1; ///< of models
  uint64_t base_version_ = 0;
  bool has_begun_ = false;
  bool is_over_ = false;
};

} // namespace troupe
