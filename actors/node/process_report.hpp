// Process report: what a node says about its process, once a second and when something changed. It
// asks its actors what they did; who computes answers after it, and is not waited for.

#pragma once

#include "actors/node/node_work.hpp"

#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// How often a node reports to the director without a reason.
inline constexpr milliseconds node_report_interval{1000};

/// How often while it has no link to a member: whoever is to be taken out for that is so only when
/// it is said still, so this much later at most.
inline constexpr milliseconds broken_link_interval{250};

class process_report {
public:
  process_report(node_context& context, const local_spans& spans, const directive_state& directives,
                 const node_work& work);

  /// Asks its actors what they did, and reports when all have answered, or at the next tick.
  void send_soon();
  /// Reports what is known.
  void send();
  void tick(moment now);
  /// The director may count anew: it waits for the answer, at the end of a run alone for that.
  void on_directive();

  /// One came that left at this time of the director's clock: with the next report both clocks are compared.
  void note_clock(uint64_t directive_sent);

  /// Its shards begin: what they said before is nothing, a parameter server's figures of earlier lives above all.
  void on_started();

  /// Another view comes: where the process stands is said with all reports about that.
  void on_view();

  /// There is a link to this process: somebody might be taken out for want of it.
  void on_link(const std::string& process);
  /// Why the newest view cannot be followed; empty: it can.
  void set_misfit(const std::string& why) { misfit_ = why; }

private:
  /// A local actor, which answers when it is done with what it computes.
  struct asked_actor {
    std::optional<moment> since; ///< asked, and has not answered
    uint64_t asked_round = 0;
    uint64_t heard_round = 0;
  };
  void ask_actor(size_t index);
  void on_actor_heard(size_t index);
  /// The whole process stood still until now.
  void count_from(moment now);
  bool everybody_answered() const;
  /// The director's counts that all actors had heard of when they answered.
  uint64_t heard_round() const;
  work_report work_of_actors() const;
  /// Who of this process can say what everybody did; null when nobody can.
  owner_actor who_counts() const;
  std::vector<std::string> members_without_link() const;
  std::vector<awaited> waits() const;
  std::vector<work_piece> pieces() const;
  std::vector<link_report> links(const exchange_figures& figures) const;

  node_context& context_;
  const local_spans& spans_;
  const directive_state& directives_;
  const node_work& work_;
  std::vector<replica_status> statuses_; ///< of local replicas, as last heard
  trainer_figures figures_;              ///< of everybody, likewise
  std::vector<asked_actor> asked_;       ///< replicas, then shards
  bool is_due_ = false;
  uint64_t sent_round_ = 0;
  moment last_{};
  std::vector<std::string> unreachable_; ///< members without a link, as last reported
  std::string misfit_;
  clock_stamps clock_;
  moment ticked_{};
  moment::duration late_{};      ///< at worst, of the ticks since the last report
  std::optional<uint64_t> left_; ///< where it stood when the newest view came
};

} // namespace troupe
