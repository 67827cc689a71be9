#include "actors/net/table/home_rows.hpp"

#include "actors/net/gate/gate.hpp"
#include "actors/net/gate/visitor.hpp"
#include "actors/net/process/process_gate.hpp"
#include "actors/net/table/table_agreement.hpp"
#include "coordinators/run/waits.hpp"
#include "data/text/failure.hpp"
#include "models/base/listed.hpp"
#include "troupe/version.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>
#include <unistd.h>
#include <utility>

namespace troupe {

namespace {

/// Between two visits of a node. Doubled, training begins later by as much, twice.
constexpr milliseconds visit_interval{50};

/// Who has rows, as the plan says.
std::vector<std::string> holders_in(const cluster_plan& plan) {
  std::vector<std::string> result;
  for (const auto& node : plan.nodes)
    if (node.holds_rows)
      result.push_back(node.name);
  return result;
}

void expect_not_stopped(const home_rows_options& options) {
  if (options.stop_requested && options.stop_requested())
    throw failure(failure_code::interrupted, "stopped while the nodes agreed on their rows");
}

/// This process's part: what it tells, and what it makes of the table.
class home {
public:
  home(const own_rows& own, std::string node) : own_(own), node_(std::move(node)) {}

  /// Reads the rows, by what is in them.
  void read() {
    if (!own_.read)
      return;
    rows_ = own_.read({});
    card_.fingerprint = content_fingerprint(rows_);
    card_.form = form_text(without_rows(rows_));
  }

  /// Empty: it has no rows.
  std::string card() const { return own_.read ? card_text(card_) : std::string{}; }

  /// A card that says why it cannot take part.
  std::string card_of_problem(const failure& why) const {
    row_card result;
    result.fingerprint = std::string(64, '0');
    result.problem_code = static_cast<int>(why.code());
    result.problem = why.where().empty() ? why.reason() : why.where() + ": " + why.reason();
    return card_text(result);
  }

  /// The form is agreed on: reads the rows by it, and says what they are. True when that is news.
  bool adopt(const std::string& form, bool is_alone) {
    if (!own_.read || form == form_text_)
      return false;
    if (!form_text_.empty())
      throw failure(failure_code::mismatch, "the nodes have agreed on their rows anew", node_,
                    "start this node again");
    const auto agreed = form_of(form, node_);
    if (differs(rows_, agreed)) {
      rows_ = own_.read(agreed);
      require_form(rows_, agreed, own_.name);
    }
    if (is_alone) {
      split_ = split_at_home({own_.name, rows_, card_.fingerprint}, agreed, own_.prepare);
      split_->part = {};
      renumber_classes(rows_, agreed.classes);
      alone_ = prepare(std::move(rows_), own_.prepare);
      card_.learned = scales_text({alone_->train.columns.fill, alone_->features, alone_->scale});
    } else {
      split_ =
        split_at_home({own_.name, std::move(rows_), card_.fingerprint}, agreed, own_.prepare);
    }
    card_.facts = facts_text(split_->facts);
    form_text_ = form;
    return true;
  }

  prepared_data finish(const row_table& table) {
    const auto place = table.holding_of(node_);
    if (place.has_value() != static_cast<bool>(own_.read))
      throw failure(failure_code::mismatch,
                    "the director's cluster file does not say the same of its rows", node_,
                    "give all nodes the same cluster file, but for what `data` says");
    if (place && table.holdings[*place].fingerprint != card_.fingerprint)
      refuse_change();
    adopt(form_text(table.form), table.holdings.size() == 1);
    if (place && table.holdings[*place].size != split_->facts.size)
      refuse_change();
    if (!alone_)
      return prepare_at_home(std::move(split_), place, table.form, table.learned, table.facts,
                             table.holdings);
    auto result = std::move(*alone_);
    result.held_facts = table.facts;
    result.holdings = table.holdings;
    result.holdings.front().source_rows = split_->rows.source_rows;
    result.own_holding = place;
    return result;
  }

private:
  [[noreturn]] void refuse_change() const {
    throw failure(failure_code::bad_data, "the rows are not those that were agreed on", own_.name,
                  "was the file changed? the table is agreed on once, when a run begins");
  }

  const own_rows& own_;
  std::string node_;
  dataset rows_;
  row_card card_;
  std::string form_text_; ///< once it is agreed on
  std::optional<split_holding> split_;
  std::optional<prepared_data> alone_; ///< the only holding, as if nobody else were there
};

// ---- The director's side ----

/// Of a director that has the table, and does not train yet.
verdict begins_soon() {
  return {verdict_kind::later, "it has agreed on the rows, and begins", refusal_code::unavailable};
}

gate_options gate_for_visits(const home_rows_options& options) {
  gate_options result;
  result.facts.version = TROUPE_VERSION;
  result.facts.node = options.own_name;
  result.facts.is_director = true;
  result.facts.process = "a run that begins";
  result.plan = options.plan;
  result.tls = options.tls;
  result.over = agree_on_rows_first();
  if (options.inherited_listen_fd >= 0)
    result.inherited_listen_fd = ::dup(options.inherited_listen_fd);
  const auto& here = node_of(options.plan, options.own_name);
  result.listen = parse_endpoint(here.listen.empty() ? here.address : here.listen);
  return result;
}

/// Visits of other nodes while their cards are gathered.
class gathering {
public:
  gathering(const home_rows_options& options, const own_rows& own)
    : agreement_{{holders_in(options.plan), computing_in(options.plan), own.categories_max,
                  own.prepare}},
      door_{gate_for_visits(options)} {
    door_.start([this](const gate_news& news) {
      if (const auto* visitor = std::get_if<visitor_news>(&news))
        answer(*visitor);
    });
  }

  /// Takes this process's card.
  table_answer tell(const std::string& node, const std::string& card) {
    const std::lock_guard guard{mutex_};
    return agreement_.on_card(node, card);
  }

  void fail(const failure& why) {
    const std::lock_guard guard{mutex_};
    agreement_.fail(why);
  }

  std::vector<std::string> missing() {
    const std::lock_guard guard{mutex_};
    return agreement_.missing();
  }

  /// True once all is over; waits for so long at most, or for a visit.
  bool wait(milliseconds time) {
    std::unique_lock lock{mutex_};
    if (!agreement_.is_over())
      changed_.wait_for(lock, time);
    return agreement_.is_over();
  }

  /// What they came to. Whoever has visited hears of it: a failure, too, ends all of them with its reason.
  row_table end(milliseconds patience) {
    std::unique_lock lock{mutex_};
    changed_.wait_for(lock, patience, [this] { return served_.size() >= seen_.size(); });
    if (const auto& failed = agreement_.failed())
      throw failure(*failed);
    return *agreement_.table();
  }

private:
  void answer(const visitor_news& visitor) {
    const auto& what = visitor.what;
    if (what.what != "table")
      return door_.answer_visit(visitor.ticket,
                                visit_refusal({verdict_kind::refused, agree_on_rows_first().reason,
                                               refusal_code::unavailable}));
    const std::lock_guard guard{mutex_};
    const auto answer = agreement_.on_card(what.node, what.card);
    seen_.insert(what.node);
    if (agreement_.is_over())
      served_.insert(what.node);
    if (agreement_.table())
      door_.close(begins_soon()); // whoever has the table may join
    door_.answer_visit(visitor.ticket, visit_answer(answer));
    changed_.notify_all();
  }

  static std::vector<std::string> computing_in(const cluster_plan& plan) {
    std::vector<std::string> result;
    for (const auto& node : plan.nodes)
      if (node.replica_count > 0)
        result.push_back(node.name);
    return result;
  }

  std::mutex mutex_; ///< guards what follows, but for the gate
  std::condition_variable changed_;
  table_agreement agreement_;
  std::set<std::string> seen_, served_;
  gate door_; ///< last: its thread ends first
};

[[noreturn]] void throw_problem(const table_answer& x) {
  throw failure(static_cast<failure_code>(x.problem_code), x.problem, x.problem_place,
                x.problem_hint);
}

/// Answers visits until the table is agreed on.
row_table gather(home& here, const own_rows& own, const home_rows_options& options) {
  gathering others{options, own};
  std::vector<std::string> waits;
  auto since = moment::clock::now();
  bool is_told = false;
  try {
    here.read(); // others are answered meanwhile
    do {
      expect_not_stopped(options);
      const auto answer = others.tell(options.own_name, here.card());
      if (answer.problem_code != 0)
        throw_problem(answer);
      if (!answer.form.empty() && here.adopt(answer.form, answer.is_alone))
        continue;
      const auto now = moment::clock::now();
      if (const auto missing = others.missing(); missing != waits) {
        waits = missing;
        since = now;
        is_told = false;
      }
      if (now - since >= options.plan.timeouts.join)
        throw failure(failure_code::unavailable,
                      "no rows came from " + listed(waits) + " within " +
                        time_text(options.plan.timeouts.join),
                      {}, "start them, or raise timeouts.join");
      if (options.on_news && !waits.empty() && !is_told && now - since > milliseconds{1'000}) {
        options.on_news("waiting for the rows of " + listed(waits));
        is_told = true;
      }
    } while (!others.wait(visit_interval));
  } catch (const failure& error) {
    others.fail(error);
  }
  return others.end(options.plan.timeouts.lost_after);
}

// ---- A node's side ----

/// The director's address may not be known yet, or nobody may be there.
bool may_come(const failure& why, const std::string& where) {
  return why.code() == failure_code::unavailable ||
         (why.code() == failure_code::missing_input && why.where() == where);
}

class visits {
public:
  explicit visits(const home_rows_options& options) : options_(options) {
    const auto director = std::ranges::find(options.plan.nodes, true, &cluster_node::is_director);
    where_ = parse_endpoint(director->address);
    if (options.tls)
      security_ = visit_security{*options.tls, director->name};
  }

  table_answer ask(const std::string& card) const {
    return ask_for_table(where_, options_.own_name, card, visit_deadline, security_);
  }

  /// Until the director has the table. It decides how long it waits for others; nobody waits for it longer than
  /// timeouts.join.
  row_table agree(home& here) const {
    auto heard = moment::clock::now();
    std::string told;
    for (;;) {
      expect_not_stopped(options_);
      std::optional<table_answer> answer;
      try {
        answer = ask(here.card());
      } catch (const failure& error) {
        if (!may_come(error, to_string(where_)) ||
            moment::clock::now() - heard >= options_.plan.timeouts.join)
          throw;
      }
      if (answer) {
        heard = moment::clock::now();
        if (!answer->table.empty())
          return table_of(answer->table, "the director's table");
        if (!answer->form.empty() && here.adopt(answer->form, answer->is_alone)) {
          heard = moment::clock::now();
          continue;
        }
        if (options_.on_news && answer->waits_for != told)
          options_.on_news("waiting for the rows of " + (told = answer->waits_for));
      }
      std::this_thread::sleep_for(visit_interval);
    }
  }

private:
  const home_rows_options& options_;
  endpoint where_;
  std::optional<visit_security> security_;
};

row_table ask(home& here, const home_rows_options& options) {
  const visits director{options};
  try {
    here.read();
    return director.agree(here);
  } catch (const failure& error) {
    if (error.code() == failure_code::bad_data || error.code() == failure_code::bad_job)
      try {
        director.ask(here.card_of_problem(error)); // so that the others hear why
      } catch (const failure&) {
      }
    throw;
  }
}

} // namespace

prepared_data agree_on_rows(const own_rows& own, const home_rows_options& options,
                            std::string& table) {
  home here{own, options.own_name};
  if (!table.empty()) {
    here.read();
    return here.finish(table_of(table, "the run's table"));
  }
  const bool leads = node_of(options.plan, options.own_name).is_director;
  const auto agreed = leads ? gather(here, own, options) : ask(here, options);
  table = table_text(agreed);
  return here.finish(agreed);
}

} // namespace troupe
