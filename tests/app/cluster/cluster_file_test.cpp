#include "app/cluster/cluster_file.hpp"

#include "app/cluster/cluster_schema.hpp"
#include "coordinators/job/keys/key_limits.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace troupe::cluster_file_test {
namespace {

using texts = std::vector<std::string>;

const std::string job = "[data]\nsynthetic = \"classification\"\n";
const std::string main_node =
  "[[node]]\nname = \"main\"\naddress = \"127.0.0.1:0\"\ndirector = true\n";
const std::string good = job + main_node;

class cluster_file : public testing::Test {
protected:
  loaded_cluster load(const std::string& text, const texts& sets = {},
                      const environment& variables = {}) {
    return load_cluster(folder.write("some.toml", text), sets, variables);
  }

  // "line:column: why; hint" of each error; other places as they are.
  texts errors(const std::string& text, const texts& sets = {}, const environment& variables = {}) {
    texts result;
    try {
      load(text, sets, variables);
    } catch (const job_errors& thrown) {
      for (const auto& error : thrown.errors())
        result.push_back(short_place(error.where) + ": " + error.why + "; " +
                         short_place(error.hint));
    }
    return result;
  }

  std::string short_place(std::string text) {
    const std::string start = folder.path() + "/some.toml:";
    for (size_t at; (at = text.find(start)) != std::string::npos;)
      text.erase(at, start.size());
    return text;
  }

  temporary_folder folder;
};

TEST_F(cluster_file, nodes_are_read_in_their_order_with_defaults) {
  const auto x = load(good + "[[node]]\nname = \"w-1.a_b\"\naddress = \"localhost:7401\"\nlisten = "
                             "\"[::1]:7401\"\nreplicas = 3\nshards = 0\n");
  EXPECT_EQ(x.plan.nodes,
            (std::vector<cluster_node>{{"main", "127.0.0.1:0", "127.0.0.1:0", true, 1, 1},
                                       {"w-1.a_b", "localhost:7401", "[::1]:7401", false, 3, 0}}));
  EXPECT_EQ(x.plan.timeouts, cluster_timeouts{});
  EXPECT_FALSE(x.tls);
  EXPECT_FALSE(x.plan.insecure);
  EXPECT_EQ(director_of(x.plan), 0u);
}

TEST_F(cluster_file, director_may_be_any_node) {
  const auto x = load(job + "[[node]]\nname = \"a\"\naddress = \"127.0.0.1:0\"\n" + main_node);
  EXPECT_EQ(director_of(x.plan), 1u);
  EXPECT_EQ(x.places, (texts{folder.path("some.toml:5:1"), folder.path("some.toml:8:1")}));
}

TEST_F(cluster_file, replicas_of_the_job_are_the_sum_of_the_nodes) {
  const auto x = load(good + "replicas = 2\n[[node]]\nname = \"b\"\n" +
                      "address = \"127.0.0.1:0\"\nreplicas = 3\n");
  EXPECT_EQ(x.job.value.training.replicas, 5u);
}

TEST_F(cluster_file, replicas_of_a_split_model_make_up_groups) {
  const auto text = [](const char* replicas) {
    return job + "[model]\ncuts = 4\n[parallel]\ntensor = 2\n" + main_node +
           "replicas = " + replicas + "\n";
  };
  EXPECT_EQ(load(text("5")).job.value.training.replicas, 2u);
  EXPECT_EQ(
    errors(text("1")),
    (texts{"6:1: 'parallel.tensor': a group needs 2 replicas, the nodes have 1 in all; give "
           "the nodes more replicas, or split over fewer"}));
}

TEST_F(cluster_file, named_job_is_relative_and_what_stands_here_wins) {
  std::filesystem::create_directory(folder.path("jobs"));
  folder.write("jobs/digits.toml",
               "[data]\nfile = \"rows.csv\"\n[training]\nepochs = 3\nsteps = "
               "7\nreplicas = 4\n[parallel]\ndata = 4\n[output]\ndirectory = \"there\"\n");
  const auto x = load("job = \"jobs/digits.toml\"\ntraining.epochs = 5\n" + main_node).job.value;
  EXPECT_EQ(x.name, "digits");
  EXPECT_EQ(x.data.file, folder.path("jobs/rows.csv"));
  EXPECT_EQ(x.training.epochs, 5u);
  EXPECT_EQ(x.training.steps, 7u);
  EXPECT_EQ(x.training.replicas, 1u) << "those in the named job are for 'troupe train'";
  EXPECT_EQ(x.output.directory, "there");
  const auto here =
    load("job = \"jobs/digits.toml\"\ndata.file = \"a.csv\"\n" + main_node).job.value;
  EXPECT_EQ(here.data.file, folder.path("a.csv"));
}

TEST_F(cluster_file, named_job_that_is_missing_is_told_with_the_place_that_names_it) {
  const auto error = test::failure_of([&] { load("job = \"none.toml\"\n" + main_node); });
  EXPECT_EQ(error.code(), failure_code::missing_input);
  EXPECT_EQ(error.where(), folder.path("some.toml:1:7"));
  EXPECT_TRUE(test::contains(error.reason(), folder.path("none.toml")));
}

TEST_F(cluster_file, errors_of_the_named_job_are_told_at_their_place_in_it) {
  folder.write("bad.toml", "[data]\nfille = \"x\"\nsynthetic = \"regression\"\n");
  EXPECT_EQ(
    errors("job = \"bad.toml\"\n" + main_node),
    (texts{folder.path("bad.toml:2:1") + ": unknown key 'data.fille'; did you mean 'data.file'?"}));
}

TEST_F(cluster_file, later_sources_win_for_the_job) {
  const std::string text = job + "[training]\nepochs = 1\n" + main_node;
  const environment variables{{"TROUPE_TRAINING__EPOCHS", "2"}};
  EXPECT_EQ(load(text).job.value.training.epochs, 1u);
  EXPECT_EQ(load(text, {}, variables).job.value.training.epochs, 2u);
  EXPECT_EQ(load(text, {"training.epochs=3"}, variables).job.value.training.epochs, 3u);
}

TEST_F(cluster_file, replicas_of_the_job_are_refused_wherever_they_are_set) {
  const std::string why = ": 'training.replicas': the nodes of a cluster have replicas; leave it "
                          "out and set replicas of each [[node]]";
  EXPECT_EQ(errors("training.replicas = 2\n" + good), (texts{"1:10" + why}));
  EXPECT_EQ(errors(good, {"training.replicas=2"}), (texts{"--set training.replicas=2" + why}));
  EXPECT_EQ(errors(good, {}, {{"TROUPE_TRAINING__REPLICAS", "2"}}),
            (texts{"environment TROUPE_TRAINING__REPLICAS" + why}));
}

TEST_F(cluster_file, tls_gives_each_node_its_files) {
  const auto x = load(job + "[tls]\nca = \"ca.pem\"\nkey = \"keys/{name}-{name}.key\"\n" +
                      main_node + "[[node]]\nname = \"b\"\naddress = \"10.0.0.2:1\"\n" +
                      "certificate = \"/else/own.pem\"\n");
  ASSERT_TRUE(x.tls);
  EXPECT_EQ(x.tls->authority_file, folder.path("ca.pem"));
  EXPECT_EQ(x.tls->credentials, (std::vector<node_credentials>{
                                  {folder.path("main.pem"), folder.path("keys/main-main.key")},
                                  {"/else/own.pem", folder.path("keys/b-b.key")}}));
  EXPECT_FALSE(is_open_to_strangers(x));
}

TEST_F(cluster_file, keys_of_all_nodes_are_set_from_outside) {
  const auto text =
    good + "[timeouts]\nheartbeat = \"250ms\"\nlost_after = \"10s\"\njoin = \"2m\"\n";
  const auto x = load(text, {"timeouts.join=3s", "training.epochs=7"},
                      {{"TROUPE_TIMEOUTS__LOST_AFTER", "2s"},
                       {"TROUPE_TIMEOUTS__JOIN", "9s"},
                       {"TROUPE_INSECURE", "true"},
                       {"TROUPE_DATA_DIR", "/data"},
                       {"TROUPE_JOB__SEED", "5"}});
  EXPECT_EQ(x.plan.timeouts,
            (cluster_timeouts{milliseconds{250}, milliseconds{2000}, milliseconds{3000}}))
    << "file < environment < --set";
  EXPECT_TRUE(x.plan.insecure);
  EXPECT_EQ(x.job.value.training.epochs, 7u);
  EXPECT_EQ(x.job.value.seed, 5u);
  EXPECT_EQ(load(text, {"timeouts={ join = \"1s\" }"}).plan.timeouts.join, milliseconds{1000});
}

TEST_F(cluster_file, what_is_set_wrongly_from_outside_says_where_it_was_set) {
  const std::string unit = "; write a number with its unit, such as \"500ms\", \"5s\" or \"2m\"";
  EXPECT_EQ(
    errors(good, {"timeouts.join=3"}, {{"TROUPE_TIMEOUTS__LOST_AFTER", "soon"}}),
    (texts{"environment TROUPE_TIMEOUTS__LOST_AFTER: expected a duration, got the string \"soon\"" +
             unit,
           "--set timeouts.join=3: expected a duration, got the string \"3\"" + unit}));
  EXPECT_EQ(
    errors(good, {"timeouts.jion=3s", "timeout.join=3s"}),
    (texts{"--set timeouts.jion=3s: unknown key 'timeouts.jion'; did you mean 'timeouts.join'?",
           "--set timeout.join=3s: unknown key 'timeout'; did you mean 'timeouts'?"}));
  EXPECT_EQ(
    errors(good, {"insecure=perhaps"}),
    (texts{"--set insecure=perhaps: expected true or false, got the string \"perhaps\"; "}));
}

TEST_F(cluster_file, timeouts_that_do_not_fit_name_the_one_that_was_set_last) {
  const auto first_word = [](const texts& found) {
    return found.empty() ? "" : found.front().substr(0, found.front().find(": one late"));
  };
  EXPECT_EQ(first_word(errors(good, {"timeouts.lost_after=1s"})), "--set timeouts.lost_after=1s");
  for (const auto& text : {good, good + "[timeouts]\nlost_after = \"6s\"\n"})
    EXPECT_EQ(first_word(errors(text, {"timeouts.heartbeat=4s"})), "--set timeouts.heartbeat=4s");
}

TEST_F(cluster_file, certificates_are_set_from_outside_relative_to_the_current_folder) {
  const auto x = load(good, {"tls.ca=ca.pem"});
  ASSERT_TRUE(x.tls);
  EXPECT_EQ(x.tls->authority_file, std::filesystem::absolute("ca.pem").string());
}

TEST_F(cluster_file, all_errors_come_at_once_with_their_places) {
  const std::string text = "insecur = true\n[data]\nfille = \"x\"\n"
                           "synthetic = \"regression\"\n"
                           "[[node]]\nname = \"Main\"\nadress = \"127.0.0.1:1\"\n"
                           "[[node]]\nname = \"b\"\naddress = \"127.0.0.1\"\nshards = -1\n"
                           "[timeouts]\njoin = 5\n";
  EXPECT_EQ(
    errors(text),
    (texts{
      "1:1: unknown key 'insecur'; did you mean 'insecure'?",
      "6:8: no name for a node: the string \"Main\"; use up to 63 of a-z, 0-9, '-', '_' and "
      "'.', a letter or digit first",
      "7:1: unknown key 'node.adress'; did you mean 'node.address'?",
      "10:11: '127.0.0.1' is no address: it has no port; write host:port, with an IPv6 address "
      "in brackets: \"localhost:4000\", \"[::1]:4000\"",
      "11:10: expected an integer from 0 to 1024, got the integer -1; ",
      "13:8: expected a duration, got the integer 5; write a number with its unit, such as "
      "\"500ms\", \"5s\" or \"2m\"",
      "3:1: unknown key 'data.fille'; did you mean 'data.file'?",
      "5:1: a node without address; add address = \"host:port\"",
      "5:3: no node is the director; add director = true to the one that is to write the "
      "results"}));
}

TEST_F(cluster_file, nodes_that_make_no_cluster_are_told_at_their_place) {
  const std::string node = "[[node]]\nname = \"a\"\naddress = \"127.0.0.1:5\"\n";
  const std::string start = job + "[[node]]\nname = \"a\"\ndirector = true\n";
  std::string many = job;
  for (size_t i = 0; i <= node_count_max; ++i)
    many += "[[node]]\nadress = \"\"\n";
  const std::pair<std::string, texts> files[] = {
    {job + node + "director = true\n" + node,
     {"8:1: two nodes have the name 'a'; the other one stands at 4:1",
      "9:1: two nodes have the address '127.0.0.1:5'; the other one stands at 5:1"}},
    {good + "[[node]]\nname = \"b\"\naddress = \"127.0.0.1:0\"\ndirector = true\n",
     {"10:1: two nodes are the director; the other one stands at 6:1"}},
    {good + "replicas = 0\nshards = 0\n",
     {"3:3: no node has replicas: nobody computes; set replicas of a node to 1 or more",
      "3:3: no node has shards: nobody owns the parameters; set shards of a node to 1 or more"}},
    {start + "address = \"0.0.0.0:5\"\n",
     {"6:1: '0.0.0.0:5' cannot be dialled; write the address others know, and this one as "
      "listen"}},
    {start + "address = \"127.0.0.1:5\"\nlisten = \"127.0.0.1:0\"\n",
     {"7:1: port 0 picks any port, but others dial 5; give listen a port"}},
    {good + "key = \"k\"\n",
     {"7:1: a certificate and no authority to check it; add [tls] with ca = \"...\""}},
    {good + "[tls]\nkey = \"k\"\n", {"7:2: [tls] without an authority; add ca = \"...\""}},
    {good + "[timeouts]\nheartbeat = \"3s\"\n",
     {"8:1: one late heartbeat of 3s would count as a loss after 5s; make lost_after at least "
      "twice the heartbeat"}},
    {good + "[[node]]\nname = \"b\"\naddress = \"127.0.0.1:0\"\nreplicas = 0\nshards = 0\n",
     {"7:1: a node without replicas and shards has nothing to do; give it some; or leave it out, "
      "and add [join]: others may come then as they like"}},
    {many, {"3:3: 1025 nodes, a cluster has at most 1024; give each node more replicas"}},
  };
  for (const auto& [text, expected] : files)
    EXPECT_EQ(errors(text), expected);
}

TEST_F(cluster_file, others_may_join_where_it_says_so) {
  const auto x = load("min_nodes = 3\nmax_nodes = 4\n" + good + "[join]\n");
  ASSERT_TRUE(x.plan.join);
  EXPECT_EQ(*x.plan.join, (cluster_join{"join", "127.0.0.1:0", 1, 1}));
  EXPECT_EQ(x.plan.node_count_max(), 4u);
  EXPECT_EQ(x.plan.joiner_count_max(), 3u);
  EXPECT_EQ(x.job.value.training.replicas, 1u) << "those that are listed";
  EXPECT_TRUE(x.plan.can_lose_spans()) << "a joiner's";
  EXPECT_EQ(load(cluster_text(x)).plan, x.plan);
  const auto full = load(
    "max_nodes = 4\n" + job + "[tls]\nca = \"ca.pem\"\n[join]\naccepts = \"guest\"\nlisten = " +
    "\"0.0.0.0:7401\"\nreplicas = 2\nshards = 0\n[[node]]\nname = \"main\"\naddress = " +
    "\"10.0.0.1:7400\"\ndirector = true\n");
  EXPECT_EQ(*full.plan.join, (cluster_join{"guest", "0.0.0.0:7401", 2, 0}));
  EXPECT_EQ(full.tls->of_joiners.certificate_file, folder.path("guest.pem"));
  EXPECT_FALSE(full.plan.can_lose_spans());
  EXPECT_EQ(load(cluster_text(full)).plan, full.plan);
  EXPECT_EQ(load("insecure = true\nmax_nodes = 4\n" + job +
                 "[join]\n[[node]]\nname = \"a\"\naddress = "
                 "\"[2001:db8::1]:7400\"\ndirector = true\n")
              .plan.join->listen,
            "[::]:0");
  EXPECT_EQ(load("max_nodes = 4\n" + good, {"join.replicas=5"}).plan.join->replica_count, 5u);
  EXPECT_EQ(load(good + "[join]\n", {}, {{"TROUPE_MAX_NODES", "7"}}).plan.max_nodes, 7u);
  const std::string apart = "[training]\nconsistency = \"asynchronous\"\n";
  EXPECT_EQ(load("max_nodes = 4\n" + job + apart + main_node + "[join]\n").plan.join->shard_count,
            0u);
  EXPECT_EQ(load("max_nodes = 4\n" + job + apart + main_node + "[join]\nshards = 3\n")
              .plan.join->shard_count,
            1u);
}

TEST_F(cluster_file, what_says_who_may_join_must_fit) {
  const std::pair<std::string, texts> files[] = {
    {good + "[join]\n",
     {"7:2: [join] without max_nodes; say how many nodes may take part: max_nodes = 8"}},
    {"max_nodes = 4\n" + good,
     {"1:1: max_nodes without [join]: the nodes of the file alone take part; add [join], or leave "
      "it "
      "out"}},
    {"max_nodes = 1\n" + good + "[[node]]\nname = \"b\"\naddress = \"127.0.0.1:0\"\n[join]\n",
     {"1:1: max_nodes = 1, and the file lists 2 nodes; raise it"}},
    {"min_nodes = 2\n" + good,
     {"1:1: min_nodes = 2, and at most 1 may compute or own parameters; lower it, or let others "
      "come with [join]"}},
    {"min_nodes = 5\nmax_nodes = 4\n" + good + "[join]\n",
     {"1:1: min_nodes = 5, and at most 4 may compute or own parameters; raise max_nodes"}},
    {"max_nodes = 4\n" + good + "[join]\naccepts = \"main\"\n",
     {"9:1: 'main' is the name of a node; its certificate would admit any name: choose another"}},
    {"max_nodes = 4\n" + good + "[join]\nreplicas = 0\nshards = 0\n",
     {"8:2: a node that joins without replicas and shards has nothing to do; give it some"}},
    {"max_nodes = 4\n" + good + "[join]\nlisten = \"0.0.0.0:0\"\n",
     {"9:1: others can reach a node that listens on 0.0.0.0:0, and nothing proves who joins; add "
      "[tls] with ca = \"...\", or insecure = true in a network you trust"}},
    {"max_nodes = 4\n[model]\nloss = \"squared\"\n" + main_node + "data = \"a.csv\"\n[join]\n",
     {"9:2: [join] in a cluster whose nodes have rows of their own; list every node, as the table "
      "of "
      "rows is agreed on before training"}},
    {"max_nodes = 4\n" + good + "[join]\naddress = \"127.0.0.1:1\"\n",
     {"9:1: unknown key 'join.address'; 'troupe config keys' lists every key"}},
  };
  for (const auto& [text, expected] : files)
    EXPECT_EQ(errors(text), expected) << text;
}

TEST_F(cluster_file, addresses_that_others_reach_need_tls_or_consent) {
  const std::string open = "[[node]]\nname = \"a\"\naddress = \"127.0.0.1:5\"\nlisten = "
                           "\"0.0.0.0:5\"\ndirector = true\n";
  const std::string why = "others can reach this address, and nothing proves who they are; add "
                          "[tls] with ca = \"...\", or insecure = true in a network you trust";
  EXPECT_EQ(errors(job + open), (texts{"6:1: " + why}));
  EXPECT_TRUE(is_open_to_strangers(load("insecure = true\n" + job + open)));
  EXPECT_FALSE(is_open_to_strangers(load(job + open + "[tls]\nca = \"c\"\n")));
  EXPECT_FALSE(is_open_to_strangers(load("insecure = true\n" + good)));
}

TEST_F(cluster_file, job_files_and_cluster_files_are_told_apart) {
  EXPECT_FALSE(is_cluster_file(folder.write("a", job)));
  EXPECT_FALSE(is_cluster_file(folder.write("a", "[job]\nseed = 3\n")));
  EXPECT_TRUE(is_cluster_file(folder.write("a", main_node)));
  EXPECT_TRUE(is_cluster_file(folder.write("a", "job = \"b.toml\"\n")));
  EXPECT_EQ(errors(job), (texts{"1:1: no [[node]]: this is no cluster file; train it in one "
                                "process with 'troupe train', or add nodes"}));
  EXPECT_EQ(errors(std::string{"node = 3\n"} + job).at(0),
            "1:8: expected a list of tables, got the integer 3; write [[node]] above each node's "
            "keys");
}

TEST_F(cluster_file, job_commands_say_that_this_is_a_cluster_file) {
  const auto path =
    folder.write("some.toml", good + "[tls]\nca = \"ca.pem\"\n[timeouts]\njoin = \"5s\"\n");
  const auto error = test::failure_of([&] { load_job(path, {}, {}); });
  EXPECT_EQ(error.where(), folder.path("some.toml:3:3"));
  EXPECT_EQ(error.hint(), "this is a cluster file: use 'troupe launch' or 'troupe node'");
}

TEST_F(cluster_file, text_of_a_cluster_reads_as_the_same_cluster) {
  const auto x =
    load(job + "[tls]\nca = \"c\"\n[timeouts]\njoin = \"1500ms\"\n" + main_node +
         "[[node]]\nname = \"b\"\naddress = \"10.0.0.2:1\"\nlisten = "
         "\"0.0.0.0:1\"\nreplicas = 0\nmemory = \"1.5 GiB\"\n[training]\nepochs = 3\n");
  EXPECT_EQ(x.plan.nodes[1].memory_bytes, uint64_t{1536} << 20);
  EXPECT_FALSE(x.plan.nodes[0].memory_bytes);
  const auto again = load(cluster_text(x));
  EXPECT_EQ(again.plan, x.plan);
  EXPECT_EQ(again.tls, x.tls);
  EXPECT_EQ(again.job.value, x.job.value);
  const auto open = load("insecure = true\n" + good);
  EXPECT_TRUE(load(cluster_text(open)).plan.insecure);
}

// A lost worker costs its task alone, unless it asked for a part of the parameters.
TEST_F(cluster_file, shards_of_a_mode_with_a_parameter_server_are_those_that_are_written) {
  const auto node = [](const std::string& name, const std::string& more) {
    return "[[node]]\nname = \"" + name + "\"\naddress = \"127.0.0.1:0\"\n" + more;
  };
  const auto nodes = main_node + node("b", "") + node("c", "shards = 3\n");
  const auto shards_of = [](const loaded_cluster& x) {
    std::vector<size_t> result;
    for (const auto& one : x.plan.nodes)
      result.push_back(one.shard_count);
    return result;
  };
  EXPECT_EQ(shards_of(load(job + nodes)), (std::vector<size_t>{1, 1, 3})) << "synchronous";
  const std::string apart = "[training]\nconsistency = \"asynchronous\"\n";
  const auto owners = load(job + apart + nodes);
  EXPECT_EQ(shards_of(owners), (std::vector<size_t>{1, 0, 1}));
  EXPECT_TRUE(owners.job.value.checkpoint.by_default) << "c can take its part with it";
  EXPECT_FALSE(owners.has_idle_shards);
  EXPECT_EQ(load(cluster_text(owners)).plan, owners.plan);
  const auto one = load(job + apart + main_node + node("b", ""));
  EXPECT_EQ(shards_of(one), (std::vector<size_t>{1, 0}));
  EXPECT_FALSE(one.job.value.checkpoint.by_default);
  const auto krum =
    load(job + "[training]\nstrategy = \"parameters\"\n[merge]\nrule = \"krum\"\n" + nodes);
  EXPECT_EQ(shards_of(krum), (std::vector<size_t>{1, 0, 0}));
  EXPECT_TRUE(krum.has_idle_shards);
  const auto clipped = load(job + apart + "[optimizer]\nclip_norm = 1\n" + nodes);
  EXPECT_EQ(shards_of(clipped), (std::vector<size_t>{1, 0, 0}));
}

TEST_F(cluster_file, memory_of_a_node_is_a_size_with_its_unit) {
  for (const auto* value : {"8", "\"8\"", "\"much\"", "\"0 GiB\"", "\"8 gib\""}) {
    const auto found = errors(good + "memory = " + value + "\n");
    ASSERT_EQ(found.size(), 1u) << value;
    EXPECT_TRUE(test::contains(found[0], "write a number with its unit, such as \"512 MiB\""));
  }
}

TEST(node_address, other_texts_are_refused_with_the_reason) {
  endpoint x{"kept", 3};
  const auto refused = read_address("host", x);
  ASSERT_TRUE(refused);
  EXPECT_TRUE(test::contains(refused->why, "it has no port"));
  EXPECT_TRUE(test::contains(refused->hint, "host:port"));
  EXPECT_EQ(x, (endpoint{"kept", 3}));
  EXPECT_FALSE(read_address("[::1]:7400", x));
  EXPECT_EQ(x, (endpoint{"::1", 7400}));
}

TEST(node_address, loopback_is_what_nobody_else_reaches) {
  for (const auto* host : {"127.0.0.1", "127.9.8.7", "::1", "localhost"})
    EXPECT_TRUE(is_loopback({host, 1})) << host;
  for (const auto* host : {"128.0.0.1", "0.0.0.0", "::", "10.0.0.1", "localhost.example.com"})
    EXPECT_FALSE(is_loopback({host, 1})) << host;
  EXPECT_TRUE(is_any_address({"0.0.0.0", 1}));
  EXPECT_TRUE(is_any_address({"::", 1}));
  EXPECT_FALSE(is_any_address({"127.0.0.1", 1}));
}

TEST(cluster_schema, durations_have_units_and_bounds) {
  EXPECT_EQ(duration_of("1ms"), milliseconds{1});
  EXPECT_EQ(duration_of("0.5s"), milliseconds{500});
  EXPECT_EQ(duration_of("2m"), milliseconds{120'000});
  EXPECT_EQ(duration_of("1h"), milliseconds{3'600'000});
  EXPECT_EQ(duration_of("168h"), milliseconds{604'800'000});
  for (const auto* text :
       {"", "5", "s", "0s", "-1s", "1 s", "1S", "1d", "169h", "infs", "nans", "0.1ms", "1sx"})
    EXPECT_FALSE(duration_of(text)) << text;
  EXPECT_EQ(duration_text(milliseconds{1500}), "1500ms");
  EXPECT_EQ(duration_text(milliseconds{90'000}), "90s");
}

TEST(cluster_schema, sizes_have_units_and_bounds) {
  EXPECT_EQ(memory_size_of("8 GiB"), uint64_t{8} << 30);
  EXPECT_EQ(memory_size_of("512MiB"), uint64_t{512} << 20);
  EXPECT_EQ(memory_size_of("0.5 KiB"), 512u);
  EXPECT_EQ(memory_size_of("2 TB"), 2'000'000'000'000u);
  EXPECT_EQ(memory_size_of("7 B"), 7u);
  for (const auto* text : {"", "5", "GiB", "0 GiB", "-1 GiB", "1  GiB", "1 gib", "1 PiB", "inf B",
                           "nan B", "0.5 B", "1 GiBx", "9999999 TiB"})
    EXPECT_FALSE(memory_size_of(text)) << text;
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{1536} << 20, uint64_t{3} << 40,
                               uint64_t{2'000'000}, uint64_t{1'000'001}})
    EXPECT_EQ(memory_size_of(memory_size_text(bytes)), bytes) << memory_size_text(bytes);
  EXPECT_EQ(memory_size_text(uint64_t{1536} << 20), "1536 MiB");
}

TEST(cluster_schema, node_names_are_fit_for_files_and_certificates) {
  for (const auto* text : {"a", "0", "w-1", "w_1.eu", "a.."})
    EXPECT_TRUE(is_node_name(text)) << text;
  for (const auto* text : {"", "A", "-a", ".a", "_a", "a/b", "a b", "\xc3\xa4"})
    EXPECT_FALSE(is_node_name(text)) << text;
  EXPECT_TRUE(is_node_name(std::string(63, 'a')));
  EXPECT_FALSE(is_node_name(std::string(64, 'a')));
}

TEST(cluster_schema, documentation_holds_the_table_of_keys) {
  std::ifstream file(TROUPE_SOURCE_DIR "/docs/clusters.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(text.find("\n" + cluster_keys_markdown()), std::string::npos)
    << "docs/clusters.md should hold this table:\n"
    << cluster_keys_markdown();
}

} // namespace
} // namespace troupe::cluster_file_test
