// Companies of exchanges over a wire that loses, delays, reorders, duplicates and damages, by
// seeds: gradients, versions, checkpoints, tasks and results at once; links that come and go,
// processes that begin anew, slices that move, terms. Whatever befalls them, what becomes whole is
// what was published, credit and memory are kept, and after the last fault it ends.
//
// TROUPE_EXCHANGE_SEEDS=0..100000 runs those seeds; a failure names the one that repeats it.

#include "tests/simulation/dice.hpp"
#include "tests/support/exchange/exchange_process.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace troupe::faulty_wire_test {
namespace {

using namespace test;

// A company of exchanges (exchange_process.hpp) over a faulty wire, by seed: links that come and
// go, processes that begin anew, slices that move, terms, and babble.
class exchange_company {
public:
  exchange_company(const exchange_plan& plan, uint64_t seed)
    : plan_(plan), random_(seed * 977 + 1), wire_(plan.faults) {
    const auto count = plan.run.spans.size();
    view_ = {1, 0, cut_at_random(random_, plan.run.slice_count, count)};
    for (size_t i = 0; i <= count; ++i)
      begin_process(i);
    for (size_t i = 0; i <= count; ++i)
      for (size_t k = 0; k < i; ++k)
        open_link(i, k);
  }

  /// Empty when all went well.
  std::string run() {
    for (size_t turn = 0; problem_.empty() && !has_finished(); ++turn) {
      if (turn == plan_.events_until_healed)
        heal();
      if (turn > plan_.events_until_healed + 60'000)
        return "it does not end: " + what_is_missing();
      advance();
      for (size_t i = 0; i < processes_.size() && problem_.empty(); ++i)
        carry_out(i);
    }
    return problem_.empty() ? problem_at_the_end() : problem_;
  }

  size_t pieces = 0, damaged = 0, terms = 0, jumps = 0, resends = 0, early = 0;

private:
  // Number 0 is the director, others are the peers' own.
  static peer_id peer(size_t i) { return static_cast<peer_id>(i); }
  static size_t number(peer_id who) { return static_cast<size_t>(who); }

  void begin_process(size_t i) {
    const auto index = i == 0 ? std::nullopt : std::optional{i - 1};
    if (processes_.size() <= i)
      processes_.push_back(std::make_unique<exchange_process>(plan_.run, index));
    else
      processes_[i] = std::make_unique<exchange_process>(plan_.run, index);
    processes_[i]->adopt(view_, now_);
  }

  // Each event one of: a message arrives, somebody computes, time passes, something breaks.
  void advance() {
    now_ += std::chrono::microseconds{random_() % 3'000};
    const auto what = random_() % 100;
    if (now_ - last_tick_ > milliseconds{50})
      return tick();
    if (!healed_ && what < plan_.troubles)
      return trouble();
    if (what < 20)
      return work(random_() % processes_.size());
    if (what < 25)
      return babble();
    if (wire_.is_empty()) {
      now_ += milliseconds{10};
      return work(random_() % processes_.size());
    }
    deliver(wire_.take(random_));
  }

  void work(size_t i) { processes_[i]->work(random_, now_); }

  void tick() {
    last_tick_ = now_;
    for (auto& process : processes_) {
      if (process->view().term != view_.term || random_() % 2 == 0)
        process->adopt(view_, now_);
      process->tick(now_);
    }
  }

  void deliver(const wire_message& message) {
    auto& to = *processes_[number(message.to)];
    if (const auto* piece = std::get_if<tensor_piece>(&message.what)) {
      const auto verdict = to.exchange.on_piece(message.from, *piece, now_);
      const bool is_taken = verdict == piece_verdict::accepted;
      damaged += verdict == piece_verdict::damaged ? 1 : 0;
      if (verdict == piece_verdict::conflict || (is_taken && message.is_damaged))
        problem_ = "a damaged piece is taken";
    } else if (const auto* question = std::get_if<tensor_want>(&message.what))
      to.exchange.on_want(message.from, *question, now_);
    else if (const auto* stamp = std::get_if<send_stamp>(&message.what))
      to.exchange.on_stamp(message.from, stamp->what);
    else if (const auto* seen = std::get_if<send_credit>(&message.what))
      to.exchange.on_credit(message.from, seen->what, now_);
    else
      to.on_note(message.from, std::get<task_note>(message.what), now_);
  }

  /// A number, or one that is too large.
  uint64_t odd(uint64_t good) {
    const uint64_t choices[] = {random_() % (good + 1), good + 1, UINT64_MAX - random_() % 70};
    return choices[random_() % 3];
  }

  /// What nobody sends: it must do nothing, whatever it says.
  void babble() {
    if (healed_ || plan_.troubles == 0)
      return;
    auto& process = *processes_[random_() % processes_.size()];
    auto& to = process.exchange;
    const auto from = peer(random_() % (processes_.size() + 1));
    tensor_name name{static_cast<tensor_kind>(random_() % tensor_kind_count), process.view().term,
                     random_() % (plan_.run.last_version + 1), only_leaf, 0};
    switch (random_() % 4) {
    case 0:
      if (to.on_piece(from, odd_piece(name), now_) == piece_verdict::accepted)
        problem_ = "an odd piece is taken";
      return;
    case 1: {
      name.node = {odd(plan_.run.slice_count), odd(plan_.run.slice_count)};
      tensor_want question{name, {}, random_() % 2 == 0};
      for (auto count = random_() % 5; count > 0; --count)
        question.elements.push_back({odd(plan_.run.element_count), odd(plan_.run.element_count)});
      return to.on_want(from, question, now_);
    }
    case 2:
      return to.on_credit(from, {random_() % (last_link_ + 2), UINT64_MAX - random_() % 9}, now_);
    default:
      return to.on_stamp(peer(processes_.size() + 5), {odd(3), odd(100)});
    }
  }

  /// With one thing wrong: a piece that is right could come from anybody.
  tensor_piece odd_piece(tensor_name name) {
    uint64_t first = 0;
    auto values = true_values(name, {0, 1 + random_() % plan_.run.element_count});
    switch (random_() % 8) {
    case 0:
      name.term += 1 - 2 * (random_() % 2);
      break;
    case 1:
      name.key = UINT64_MAX - random_() % 3;
      break;
    case 2:
      name.part = UINT64_MAX - random_() % 3;
      break;
    case 3:
      name.node = {random_() % 9, random_() % 2 * UINT64_MAX};
      break;
    case 4:
      first = UINT64_MAX - random_() % 99;
      break;
    case 5:
      first = plan_.run.element_count;
      break;
    case 6:
      values = {};
      break;
    default:
      values = {values.storage(), values.size(), sum_of_bits(values.values()) + 1, sum_of_bits};
    }
    return {name, first, values, true_note(name), {}};
  }

  // ---- what breaks ----

  void trouble() {
    const auto i = random_() % processes_.size();
    const auto k = random_() % processes_.size();
    switch (random_() % 8) {
    case 0:
    case 1:
      return i == k ? void() : close_link(i, k);
    case 2:
    case 3:
    case 4:
      return i == k || links_.contains(std::minmax(i, k)) ? void() : open_link(i, k);
    case 5:
      view_.slices = cut_at_random(random_, plan_.run.slice_count, plan_.run.spans.size());
      std::ranges::shuffle(view_.slices, random_);
      return;
    case 6:
      return i == 0 ? begin_term() : begin_anew(i);
    default:
      return i == 0 || i == k ? void() : processes_[i]->exchange.withdraw(peer(k));
    }
  }

  void begin_term() {
    ++terms;
    ++view_.term;
    view_.start_version = processes_[0]->checkpoint();
  }

  // With spans it costs a term: nobody else has its newest versions.
  void begin_anew(size_t i) {
    for (size_t k = 0; k < processes_.size(); ++k)
      if (k != i)
        close_link(i, k);
    if (!plan_.run.spans[i - 1].empty() || i == 1) // the first one has the tasks
      begin_term();
    begin_process(i);
    for (size_t k = 0; k < processes_.size(); ++k)
      if (k != i)
        open_link(i, k);
  }

  void open_link(size_t i, size_t k) {
    links_.insert(std::minmax(i, k));
    processes_[i]->exchange.link_opened(peer(k), ++last_link_, true);
    processes_[k]->exchange.link_opened(peer(i), ++last_link_, true);
  }

  void close_link(size_t i, size_t k) {
    links_.erase(std::minmax(i, k));
    processes_[i]->exchange.link_closed(peer(k));
    processes_[k]->exchange.link_closed(peer(i));
    if (plan_.faults.keeps_order || random_() % 2 == 0)
      wire_.cut(peer(i), peer(k));
  }

  void heal() {
    healed_ = true;
    wire_.heal();
    for (size_t i = 0; i < processes_.size(); ++i)
      for (size_t k = 0; k < i; ++k)
        if (!links_.contains(std::minmax(i, k)))
          open_link(i, k);
  }

  // ---- what comes of it ----

  void carry_out(size_t i) {
    auto& process = *processes_[i];
    for (process.exchange.take_effects(effects_); !effects_.empty();
         process.exchange.take_effects(effects_)) {
      const auto effects = std::move(effects_);
      effects_ = {};
      for (const auto& effect : effects)
        std::visit([&](const auto& x) { carry_out(i, x); }, effect);
    }
    for (auto& [to, news] : std::exchange(process.notes, {}))
      send(i, to, std::move(news));
    check(i);
  }

  template <class T>
  void send(size_t i, peer_id to, T&& what) {
    if (links_.contains(std::minmax(i, number(to))))
      wire_.send({peer(i), to, std::forward<T>(what)}, random_);
  }

  void carry_out(size_t i, const send_piece& x) {
    ++pieces;
    if (!is_true(x.what.of, x.what.first_element, x.what.values))
      problem_ = "values are sent that are not final";
    send(i, x.to, x.what);
  }
  void carry_out(size_t i, const send_want& x) { send(i, x.to, x.what); }
  void carry_out(size_t i, const send_stamp& x) { send(i, x.to, x); }
  void carry_out(size_t i, const send_credit& x) { send(i, x.to, x); }
  void carry_out(size_t, const tensor_asked&) {}
  void carry_out(size_t, const piece_due&) {} // nobody keeps values elsewhere
  void carry_out(size_t i, const tensor_arrived& x) {
    jumps += x.jump ? 1 : 0;
    if (x.of.term == processes_[i]->view().term)
      processes_[i]->on_arrived(x, now_);
  }

  void check(size_t i) {
    const auto& process = *processes_[i];
    const auto& limits = plan_.run.limits;
    const auto window = std::max(limits.window_bytes, limits.piece_elements * sizeof(float));
    const auto figures = process.exchange.figures();
    if (!process.problem.empty())
      problem_ = process.problem;
    if (figures.bytes_under_way > window * (processes_.size() - 1))
      problem_ = "more is under way than there is credit";
    if (plan_.faults.keeps_order)
      for (size_t k = 0; k < processes_.size(); ++k)
        if (wire_.bytes_between(peer(i), peer(k)) > window)
          problem_ = "a wire has more than its window";
    if (figures.tensors_arriving > process.arriving_max())
      problem_ = "too much is arriving";
    if (figures.tensors_kept > kept_max())
      problem_ = "too much is kept";
  }

  /// Two versions, two copies, sums of two steps however slices moved, tasks and results.
  size_t kept_max() const {
    return 2 + 2 * state_parts + 2 * (2 * plan_.run.slice_count) +
           task_parts * 2 * (plan_.run.task_count + 1);
  }

  bool has_finished() const {
    return healed() && std::ranges::all_of(processes_, [&](const auto& process) {
             return process->view().term == view_.term && process->has_finished();
           });
  }
  bool healed() const { return healed_; }

  std::string what_is_missing() const {
    std::string result;
    for (size_t i = 0; i < processes_.size(); ++i) {
      result += "\n  process " + std::to_string(i) + " at term " +
                std::to_string(processes_[i]->view().term) + ", version " +
                std::to_string(processes_[i]->version()) +
                (processes_[i]->has_finished() ? " done" : "") +
                (i ? " slices " + std::to_string(view_.slices[i - 1].begin) + ".." +
                       std::to_string(view_.slices[i - 1].end) + " span " +
                       std::to_string(plan_.run.spans[i - 1].begin) + ".." +
                       std::to_string(plan_.run.spans[i - 1].end)
                   : "");
      for (const auto& [to, question] : processes_[i]->exchange.awaited())
        result += ", kind " + std::to_string(static_cast<int>(question.of.kind)) + " key " +
                  std::to_string(question.of.key) + " of " + std::to_string(number(to));
    }
    return result;
  }

  /// Names that are forgotten are gone, and nothing waits for credit for ever.
  std::string problem_at_the_end() {
    for (auto& process : processes_) {
      resends += process->exchange.figures().resends;
      early += process->exchange.figures().bytes_early;
      for (size_t kind = 0; kind < tensor_kind_count; ++kind) {
        process->exchange.forget(static_cast<tensor_kind>(kind), {});
        process->exchange.dismiss(static_cast<tensor_kind>(kind), {});
      }
      const auto left = process->exchange.figures();
      if (left.tensors_kept + left.tensors_arriving + left.ranges_waiting > 0)
        return "something is left that was forgotten";
    }
    return {};
  }

  exchange_plan plan_;
  std::mt19937_64 random_;
  faulty_wire wire_;
  exchange_view view_;
  std::vector<std::unique_ptr<exchange_process>> processes_; ///< the director first
  std::set<std::pair<size_t, size_t>> links_;
  uint64_t last_link_ = 0;
  moment now_{};
  moment last_tick_{};
  bool healed_ = false;
  std::string problem_;
  std::vector<exchange_effect> effects_;
};

TEST(faulty_wire, everything_arrives_as_it_was_published_and_it_ends) {
  const char* text = std::getenv("TROUPE_EXCHANGE_SEEDS");
  const auto seeds = simulation::read_seeds(text == nullptr ? "0..400" : text);
  ASSERT_TRUE(seeds) << "TROUPE_EXCHANGE_SEEDS is FIRST..BEHIND_THE_LAST";
  size_t pieces = 0, damaged = 0, terms = 0, jumps = 0, resends = 0, early = 0;
  for (auto seed = seeds->first; seed < seeds->last; ++seed) {
    exchange_company all{plan_of(seed), seed};
    ASSERT_EQ(all.run(), "") << "TROUPE_EXCHANGE_SEEDS=" << seed;
    pieces += all.pieces;
    damaged += all.damaged;
    terms += all.terms;
    jumps += all.jumps;
    resends += all.resends;
    early += all.early;
  }
  std::cout << pieces << " pieces, " << damaged << " damaged, " << resends << " sent again, "
            << early << " bytes early, " << jumps << " jumps, " << terms << " terms\n";
}

} // namespace
} // namespace troupe::faulty_wire_test
