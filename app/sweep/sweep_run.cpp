#include "troupe/app/sweep/sweep_run.hpp"

#include "troupe/app/cluster/child_processes.hpp"
#include "troupe/app/cluster/launch_report.hpp"
#include "troupe/app/terminal/output.hpp"

#include <filesystem>
#include <map>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

namespace troupe {

namespace {

/// For trials to stop at a version and write their files; then they are killed.
constexpr milliseconds stop_grace{30'000};

std::string folder_of(const sweep_orders& x, size_t trial) {
  return (std::filesystem::path{x.folder} / trial_folder_name(trial)).string();
}

// What people set comes behind what a search sets by itself, and before what makes the trial.
std::vector<std::string> command_line(const sweep_orders& x, size_t trial, uint64_t epochs,
                                      bool resumes) {
  std::vector<std::string> result{std::filesystem::read_symlink("/proc/self/exe").string(), "train",
                                  x.job_file, "--quiet", resumes ? "--resume" : "--overwrite"};
  const auto set = [&](const std::string& text) { result.insert(result.end(), {"--set", text}); };
  set("runtime.threads=1");
  set("training.replicas=1");
  for (const auto& text : x.sets)
    set(text);
  for (const auto& [key, value] : x.trials[trial])
    set(key + '=' + value);
  set("output.directory=" + folder_of(x, trial));
  if (x.shape.rungs.size() > 1) // else the job's own length, which may be one in steps
    set("training.epochs=" + std::to_string(epochs));
  return result;
}

std::string values_text(const trial_values& x) {
  std::string result;
  for (const auto& [key, value] : x)
    result += (result.empty() ? "" : " ") + key + '=' + value;
  return result;
}

class running_sweep {
public:
  explicit running_sweep(const sweep_orders& orders)
    : orders_(orders),
      rule_(orders.shape),
      runs_(orders.trials.size()),
      nowhere_(open("/dev/null", O_WRONLY | O_CLOEXEC)) {
    for (size_t i = 0; i < runs_.size(); ++i)
      runs_[i] = read_trial(folder_of(orders_, i));
  }
  ~running_sweep() { close(nowhere_); }
  running_sweep(const running_sweep&) = delete;
  running_sweep& operator=(const running_sweep&) = delete;

  sweep_end run() {
    start_some();
    while (!trials_.empty()) {
      const auto news = children_.wait(deadline_);
      for (const int number : news.stop_signals)
        stop(number);
      for (const auto& [child, end] : news.ended)
        on_end(child, end);
      if (deadline_ && moment::clock::now() >= *deadline_)
        send_to_all(SIGKILL);
      start_some();
    }
    return {{orders_.trials, runs_, rule_}, stop_signal_};
  }

private:
  // What stands at the rung already, from another life of the search, need not run.
  void start_some() {
    while (stop_signal_ == 0 && trials_.size() < orders_.slots) {
      const auto next = rule_.next();
      if (!next)
        return;
      rule_.on_started(*next);
      if (runs_[*next] && has_diverged(*runs_[*next]))
        rule_.on_failed(*next);
      else if (runs_[*next] && has_reached(*runs_[*next], rule_.epochs()))
        rule_.on_reached(*next, loss_at(*runs_[*next], rule_.epochs()));
      else
        start(*next);
    }
  }

  // What left no checkpoint begins anew.
  void start(size_t trial) {
    const bool resumes = runs_[trial] && !runs_[trial]->checkpoints.empty();
    children_.start({trial_folder_name(trial),
                     command_line(orders_, trial, rule_.epochs(), resumes),
                     {},
                     nowhere_});
    trials_[started_++] = trial;
  }

  void on_end(size_t child, const process_end& end) {
    const auto trial = trials_.at(child);
    trials_.erase(child);
    runs_[trial] = read_trial(folder_of(orders_, trial));
    const auto epochs = rule_.epochs();
    if (runs_[trial] && has_reached(*runs_[trial], epochs)) {
      rule_.on_reached(trial, loss_at(*runs_[trial], epochs));
      tell(trial, epochs);
    } else if (stop_signal_ != 0 && !(runs_[trial] && has_diverged(*runs_[trial]))) {
      rule_.on_stopped(trial);
    } else {
      rule_.on_failed(trial);
      print_message("troupe: warning: trial " + trial_folder_name(trial) + " (" +
                    values_text(orders_.trials[trial]) +
                    ") failed: " + end_and_lines(end, children_.last_lines(child)));
    }
  }

  void tell(size_t trial, uint64_t epochs) {
    if (orders_.quiet)
      return;
    const auto* row = judged_row(*runs_[trial], epochs);
    const auto loss = loss_at(*runs_[trial], epochs);
    print_message("trial " + trial_folder_name(trial) + "  epoch " +
                  std::to_string(row ? row->epoch : epochs) + "  loss " +
                  (loss ? nlohmann::json(*loss).dump() : "none") + "  " +
                  values_text(orders_.trials[trial]) + '\n');
  }

  // A second one ends all at once.
  void stop(int number) {
    send_to_all(stop_signal_ == 0 ? number : SIGKILL);
    if (stop_signal_ == 0)
      deadline_ = moment::clock::now() + stop_grace;
    stop_signal_ = number;
  }

  void send_to_all(int number) {
    for (const auto& [child, trial] : trials_)
      children_.send({child, number});
  }

  const sweep_orders& orders_;
  sweep_rule rule_;
  std::vector<std::optional<run_record>> runs_;
  int nowhere_; ///< where the trials' reports go: their folders have them
  child_processes children_{{}, [](const std::string&) {}};
  std::map<size_t, size_t> trials_; ///< by child
  size_t started_ = 0;
  int stop_signal_ = 0;
  std::optional<moment> deadline_;
};

} // namespace

sweep_end run_sweep(const sweep_orders& x) {
  return running_sweep{x}.run();
}

} // namespace troupe
