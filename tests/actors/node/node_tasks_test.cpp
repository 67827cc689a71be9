// Two nodes of a run with a parameter server: its tasks reach trainers of the other process, and what comes
// of them reaches it. Parameter server, trainers and director are played; the nodes are real.

#include "actors/tasks/distant_trainer.hpp"
#include "tests/support/played_node.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace troupe::node_tasks_test {
namespace {

using namespace std::chrono_literals;
using test::note;
constexpr size_t parameter_count = 6000;

struct heard_by_server {
  std::vector<view> views;
  std::vector<trainer_result> results;
  std::vector<uint64_t> rounds; ///< of holds
  std::vector<horizon> horizons;
  std::vector<caf::actor_addr> ended; ///< of those that views named
};

server_actor::behavior_type played_server(server_actor::pointer self, heard_by_server* notes) {
  self->set_down_handler([=](const caf::down_msg& news) { notes->ended.push_back(news.source); });
  return {[=](const view& news) {
            notes->views.push_back(news);
            for (const auto& entry : news.trainers)
              self->monitor(entry.actor);
          },
          [](const shard_start&) {},
          note(notes->horizons),
          [](atom::pull, uint64_t) -> caf::result<parameter_span> {
            return caf::make_error(protocol_error::version_not_held);
          },
          [](atom::figures) { return trainer_figures{}; },
          note(notes->results),
          [=](atom::hold, uint64_t, uint64_t round) { notes->rounds.push_back(round); },
          [](atom::tick) {}};
}

struct heard_by_trainer {
  std::vector<trainer_task> tasks;
  std::vector<evaluation_task> evaluations;
};

trainer_actor::behavior_type played_trainer(trainer_actor::pointer, heard_by_trainer* notes) {
  return {[](atom::status) { return replica_status{}; }, note(notes->tasks),
          note(notes->evaluations)};
}

const_buffer counted(float first) {
  return test::counting_from(first, parameter_count).storage();
}

class two_nodes : public test::testing_system {
public:
  explicit two_nodes(size_t replicas_there = 1) {
    server_ = system_->spawn(played_server, &server);
    trainer_here_ = system_->spawn(played_trainer, &trainer_here);
    for (size_t i = 0; i < replicas_there; ++i)
      trainers_there_.push_back(system_->spawn(played_trainer, &trainer_there));
    director_ = system_->spawn(test::played_director, &director);
    here_ = make_node({"here", 7, 1, 1}, {trainer_here_}, server_);
    there_ = make_node({"there", 9, replicas_there, 0}, trainers_there_, {});
    caf::anon_send(here_, std::string{"there"}, uint64_t{9}, caf::actor_cast<node_actor>(there_));
    caf::anon_send(there_, std::string{"here"}, uint64_t{7}, caf::actor_cast<node_actor>(here_));
    tell(view_of(1, 9, replicas_there));
  }

  ~two_nodes() {
    const auto end = [](const auto& actor) {
      caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
    };
    end(here_);
    end(there_);
    end(server_);
    end(trainer_here_);
    for (const auto& trainer : trainers_there_)
      end(trainer);
    end(director_);
    run();
  }

  /// With nobody there: `there` 0.
  static cluster_view view_of(uint64_t number, uint64_t there, size_t replicas_there = 1) {
    cluster_view result{{1, number}, 0, {{"here", 7, 1, 1}}, {{0, 0, {0, 1}}}, {{0, 0, {0, 2}}}};
    if (there == 0)
      return result;
    result.members.push_back({"there", there, replicas_there, 0});
    for (size_t i = 0; i < replicas_there; ++i)
      result.replicas.push_back({1, i, {1, 2}});
    return result;
  }

  template <class T>
  void tell(const T& news) {
    caf::anon_send(here_, news);
    caf::anon_send(there_, news);
    run();
  }

  /// The parameter server's task, as it gives one to whom its view names.
  void task_there(uint64_t ticket, size_t trainer = 1) {
    trainer_task task;
    task.server = server_;
    task.trainer = trainer;
    task.ticket = task.number = ticket;
    task.first_step = 40;
    task.parameters = counted(100);
    task.model = ticket;
    caf::anon_send(distant(trainer), task);
    run();
  }
  /// Null when the parameter server's view does not name it.
  task_taker_actor distant(size_t trainer = 1) const {
    const auto& news = server.views.back();
    const auto found =
      std::ranges::find(news.trainers, news.replicas.at(trainer).name, &trainer_entry::name);
    return found == news.trainers.end() ? task_taker_actor{} : found->actor;
  }
  void kill_there(size_t replica) {
    caf::anon_send_exit(trainers_there_.at(replica), caf::exit_reason::kill);
    run();
  }

  /// The trainer there is done with its last task.
  void answer_there() {
    const auto& task = trainer_there.tasks.back();
    trainer_result result;
    result.ticket = task.ticket;
    result.sums = {0.5, 6, 7, 0.25};
    result.values = counted(300);
    caf::anon_send(task.server, result);
    run();
  }

  /// The parameter server's report; a second later its node says how things are.
  void report(const training_report& news) {
    caf::anon_send(here_, news);
    scheduler_->advance_time(node_report_interval);
    run();
  }

  /// A header that the parameter server's process would not send, and the first of its values.
  void announce_there(task_header news) {
    news.term = 1;
    news.number = news.last = news.task = 1;
    news.open = {1};
    caf::anon_send(there_, news);
    const tensor_piece values{{tensor_kind::model, 1, 1}, 0, test::payload_of({7}), {}, {}};
    caf::anon_send(there_, sent_piece{{{"here"}, values}});
    run();
  }
  size_t buffers_made() const { return buffers_->made_count(); }

  /// It is let in again, under another incarnation.
  void meet_there_again(uint64_t incarnation) {
    caf::anon_send(there_, incarnation, director_);
    caf::anon_send(here_, std::string{"there"}, incarnation, caf::actor_cast<node_actor>(there_));
    run();
  }
  /// It answers the director.
  bool lives_there() {
    const auto before = director.credits.size();
    caf::anon_send(there_, sent_stamp{{speaking_director(), {9, 0}}});
    run();
    return director.credits.size() > before;
  }

  void say_held(uint64_t round, uint64_t next_step) {
    caf::anon_send(here_, atom::held_v, uint64_t{0}, round, next_step);
    run();
  }

  heard_by_server server;
  heard_by_trainer trainer_here, trainer_there;
  test::heard director;

private:
  local_node_actor make_node(const member& self, const std::vector<trainer_actor>& trainers,
                             const server_actor& server_here) {
    neural_network_options line;
    line.features = parameter_count - 1;
    line.outputs = 1;
    line.loss = loss_kind::squared;
    node_options options;
    options.self = self;
    options.kept = true;
    options.network = std::make_shared<neural_network>(line);
    options.parameters = buffers_;
    options.plan = {
      .row_count = 8, .batch_size = 4, .slice_count = 1, .epoch_count = 40, .step_limit = {}};
    options.rows = {.test = 4 * evaluation_chunk_rows, .validation = 0};
    options.exchange.piece_elements = 1500;
    options.stand_in = [](local_node_actor::pointer node, const trainer_life& who) {
      return node->spawn(distant_trainer, who, local_node_actor{node});
    };
    local_company local;
    for (const auto& trainer : trainers)
      local.add(trainer);
    if (server_here)
      local.add(server_here);
    const auto node = system_->spawn(troupe::node, options, local);
    caf::anon_send(node, self.incarnation, director_);
    return node;
  }

  std::shared_ptr<buffer_pool> buffers_ = std::make_shared<buffer_pool>(parameter_count);
  server_actor server_;
  trainer_actor trainer_here_;
  std::vector<trainer_actor> trainers_there_;
  director_link_actor director_;
  local_node_actor here_, there_;
};

TEST(node_tasks, a_trainer_of_another_process_is_one_of_the_servers) {
  two_nodes run;
  ASSERT_EQ(run.server.views.size(), 1u);
  ASSERT_EQ(run.server.views[0].trainers.size(), 2u);
  run.task_there(5);
  ASSERT_EQ(run.trainer_there.tasks.size(), 1u);
  EXPECT_TRUE(run.trainer_here.tasks.empty());
  const auto& task = run.trainer_there.tasks[0];
  EXPECT_EQ(task.first_step, 40u);
  EXPECT_EQ(task.trainer, 1u);
  EXPECT_TRUE(std::ranges::equal(task.parameters.values(), counted(100).values()));
  run.answer_there();
  ASSERT_EQ(run.server.results.size(), 1u);
  const auto& result = run.server.results[0];
  EXPECT_EQ(result.ticket, 5u);
  EXPECT_EQ(result.trainer, 1u);
  EXPECT_EQ(result.sums, (batch_sums{0.5, 6, 7, 0.25}));
  EXPECT_TRUE(std::ranges::equal(result.values.values(), counted(300).values()));
}

TEST(node_tasks, nothing_comes_of_a_task_to_a_process_that_is_gone) {
  two_nodes run;
  run.task_there(5);
  const auto before = run.distant();
  run.tell(two_nodes::view_of(2, 0));
  EXPECT_EQ(run.server.views.back().trainers.size(), 1u);
  run.answer_there();
  EXPECT_TRUE(run.server.results.empty());
  caf::anon_send(before, trainer_task{});
  run.run();
  EXPECT_EQ(run.trainer_there.tasks.size(), 1u) << "who stood for it has ended";
}

TEST(node_tasks, another_life_of_a_process_is_another_trainer) {
  two_nodes run;
  const auto before = run.distant();
  run.tell(two_nodes::view_of(2, 9));
  EXPECT_EQ(run.distant(), before);
  run.tell(two_nodes::view_of(3, 10));
  EXPECT_NE(run.distant(), before);
}

TEST(node_tasks, a_process_goes_on_without_a_trainer_and_the_server_hears_of_it) {
  two_nodes run{2};
  run.task_there(5, 1);
  const auto lost = run.distant(1);
  run.kill_there(0);
  EXPECT_EQ(run.server.ended, std::vector{lost.address()});
  run.task_there(6, 2);
  ASSERT_EQ(run.trainer_there.tasks.size(), 2u);
  run.answer_there();
  ASSERT_EQ(run.server.results.size(), 1u);
  EXPECT_EQ(run.server.results[0].ticket, 6u);
  const auto other = run.distant(2);
  run.tell(two_nodes::view_of(2, 9, 2));
  EXPECT_FALSE(run.distant(1)) << "it is lost in later views, too";
  EXPECT_EQ(run.distant(2), other);
}

TEST(node_tasks, a_task_of_a_trainer_that_was_idle_when_it_ended_is_given_back) {
  two_nodes run{2};
  run.kill_there(0);
  EXPECT_TRUE(run.server.ended.empty());
  const auto before = run.buffers_made();
  run.task_there(5, 1);
  EXPECT_EQ(run.server.ended, std::vector{run.distant(1).address()});
  EXPECT_EQ(run.buffers_made(), before) << "nothing is taken in for it";
}

TEST(node_tasks, a_process_that_joins_anew_still_lacks_the_trainers_it_lost) {
  two_nodes run{2};
  run.kill_there(0);
  run.meet_there_again(10);
  auto news = two_nodes::view_of(1, 10, 2);
  news.id.term = 2;
  run.tell(news);
  run.task_there(5, 1);
  EXPECT_EQ(run.server.ended.back(), run.distant(1).address());
  EXPECT_TRUE(run.trainer_there.tasks.empty());
}

TEST(node_tasks, a_process_without_a_trainer_ends) {
  two_nodes run{2};
  run.kill_there(0);
  EXPECT_TRUE(run.lives_there());
  run.kill_there(1);
  EXPECT_FALSE(run.lives_there());
}

TEST(node_tasks, an_evaluation_goes_to_the_director) {
  two_nodes run;
  caf::anon_send(run.distant(), evaluation_task{{}, 1, 3, {6, counted(100)}, {2, 4}});
  run.run();
  ASSERT_EQ(run.trainer_there.evaluations.size(), 1u);
  const auto& task = run.trainer_there.evaluations[0];
  EXPECT_EQ(task.chunks, (index_range{2, 4}));
  EXPECT_EQ(task.version, 3u);
  caf::anon_send(task.director, evaluation{1, 3, 2, {{1, 2, 3, 4}, {}}});
  run.run();
  ASSERT_EQ(run.director.evaluations.size(), 1u);
  EXPECT_EQ(run.director.evaluations[0].first_chunk, 2u);
}

TEST(node_tasks, the_server_hears_which_rows_are_complete) {
  two_nodes run;
  run.tell(directive{1, 1, {40, false}, 10, 0});
  run.tell(directive{1, 1, {40, false}, 20, 0}); // said again, with what came meanwhile
  EXPECT_EQ(run.server.horizons, (std::vector<horizon>{{{40, false}, 10}, {{40, false}, 20}}));
  run.tell(hold_request{1, 2});
  run.tell(directive{1, 1, {40, false}, 30, 0});
  EXPECT_EQ(run.server.horizons.size(), 2u) << "a horizon would end the hold";
}

TEST(node_tasks, the_servers_version_is_that_of_its_last_report) {
  two_nodes run;
  training_report news;
  news.term = 1;
  news.version = 30;
  run.report(news);
  EXPECT_TRUE(std::ranges::any_of(run.director.nodes, [](const node_report& x) {
    return x.name == "here" && x.shard_versions == std::vector<uint64_t>{30};
  }));
}

TEST(node_tasks, the_server_answers_a_hold_for_all) {
  two_nodes run;
  training_report news;
  for (const auto& [term, version] : {std::pair{1, 30}, {0, 35}}) { // the second is of no count
    news.term = static_cast<uint64_t>(term);
    news.version = static_cast<uint64_t>(version);
    run.report(news);
  }
  run.tell(hold_request{1, 6});
  EXPECT_EQ(run.server.rounds, (std::vector<uint64_t>{6}));
  ASSERT_EQ(run.director.holds.size(), 1u) << "trainers begin nothing by themselves";
  EXPECT_EQ(run.director.holds[0].name, "there");
  EXPECT_EQ(run.director.holds[0].next_step, 0u);
  run.tell(hold_request{1, 6});
  EXPECT_EQ(run.server.rounds, (std::vector<uint64_t>{6, 6}))
    << "it may have had no view to answer in";
  run.say_held(6, 44);
  EXPECT_EQ(run.director.holds.back(), (hold_answer{"here", {1, 1}, 44, {30}}));
}

TEST(node_tasks, a_task_that_cannot_be_is_refused_before_it_takes_memory) {
  two_nodes run;
  const auto before = run.buffers_made();
  task_header possible;
  possible.model = 1;
  auto news = possible;
  news.vector_count = 1; // this optimizer keeps no state: the model alone can come
  run.announce_there(news);
  news = possible;
  news.member = 1; // there is one
  run.announce_there(news);
  news = possible;
  news.first_step = 80; // the run ends there
  run.announce_there(news);
  news = possible;
  news.evaluates = true;
  news.chunks = {0, 5}; // of four
  run.announce_there(news);
  EXPECT_EQ(run.buffers_made(), before);
  run.announce_there(possible);
  EXPECT_EQ(run.buffers_made(), before + 1);
}

} // namespace
} // namespace troupe::node_tasks_test
