// `troupe config show --plan`: what it prints, and what it refuses as `train` would.

#include "tests/support/model_commands.hpp"

#include <nlohmann/json.hpp>

namespace troupe::plan_command_test {
namespace {

class plan_command : public test::model_commands {
protected:
  void SetUp() override {
    folder.write("cut.toml", "[data]\nsynthetic = \"classification\"\nrows = 64\nfeatures = 4\n"
                             "[model]\nhidden = [16, 16]\ncuts = 2\n"
                             "cut = [\"outputs\", \"inputs\", \"none\"]\n"
                             "[training]\nslices = 2\nreplicas = 1\n[parallel]\ntensor = 2\n");
  }
};

const std::string two_nodes = "job = \"cut.toml\"\n"
                              "[[node]]\nname = \"a\"\naddress = \"127.0.0.1:0\"\n"
                              "director = true\n"
                              "[[node]]\nname = \"b\"\naddress = \"127.0.0.1:0\"\n";

TEST_F(plan_command, prints_tables_and_trains_nothing) {
  ASSERT_EQ(run("config show cut.toml --plan --set runtime.threads=1"), 0) << err;
  EXPECT_TRUE(out.starts_with("model    4-16-16-2, 386 parameters; cuts 2\n"
                              "step     2 slices; data 1, tensor 2, pipeline 1; bubble 0.0 %\n"))
    << out;
  EXPECT_TRUE(test::contains(out, "\n1        this     0-1     0-2     1 of 2 "));
  EXPECT_TRUE(said("troupe: warning: a part of 8 units is slow to compute in slices of 16 rows\n"));
  EXPECT_TRUE(said("troupe: warning: 2 replicas on 1 threads take turns\n"));
  EXPECT_FALSE(folder.has("runs"));
}

TEST_F(plan_command, prints_one_object_for_scripts) {
  ASSERT_EQ(run("config show cut.toml --plan --json"), 0) << err;
  const auto plan = nlohmann::json::parse(out);
  EXPECT_EQ(plan["replicas"].size(), 2u);
  EXPECT_EQ(plan["links"][0]["forward"], 32 * 16 * 4);
  EXPECT_EQ(run("config show cut.toml --json"), 2) << "of a plan only";
}

TEST_F(plan_command, counts_the_memory_of_devices_where_replicas_compute_on_some) {
  const std::string shared =
    "config show cut.toml --plan --set data.rows=2048 --set data.test_fraction=0.25 ";
  const auto whole =
    shared +
    "--set model.cuts=1 --set model.cut= --set parallel.tensor=1 --set training.replicas=2 ";
  ASSERT_EQ(run(whole), 0) << err;
  EXPECT_FALSE(test::contains(out, "on devices"));
  ASSERT_EQ(run(whole + "--set runtime.device=card"), 0) << err;
  EXPECT_TRUE(test::contains(out, "on devices"));
  ASSERT_EQ(run(whole + "--set runtime.device=card --json"), 0) << err;
  const auto bytes = nlohmann::json::parse(out)["processes"][0]["device_bytes"].get<uint64_t>();
  // Of each replica 386 parameters and their gradient, and 256 rows of an evaluation.
  EXPECT_GT(bytes, 2u * 4 * (2 * 386 + 256 * (4 + 16 + 16 + 2)));
  EXPECT_LT(bytes, 2u * 4 * (2 * 386 + 256 * (4 + 6 * (16 + 16 + 2))));
  ASSERT_EQ(run(whole + "--set runtime.device=auto --json"), 0) << err;
  EXPECT_EQ(nlohmann::json::parse(out)["processes"][0]["device_bytes"], bytes)
    << "if there are some";
  // Two share a model: both have activations of 256 rows in 8 of 16 units at least.
  ASSERT_EQ(run(shared + "--json --set runtime.device=card"), 0) << err;
  const auto parted = nlohmann::json::parse(out)["processes"][0]["device_bytes"].get<uint64_t>();
  EXPECT_GT(parted, 2u * 4 * 256 * (8 + 8));
  EXPECT_LT(parted, 2u * 2 * 4 * (2 * 386 + 256 * (4 + 6 * (16 + 16 + 2))))
    << "two slices at a time";
  ASSERT_EQ(run(shared + "--json"), 0) << err;
  EXPECT_FALSE(nlohmann::json::parse(out)["processes"][0].contains("device_bytes"));
}

TEST_F(plan_command, refuses_what_train_refuses) {
  EXPECT_EQ(run("config show cut.toml --plan --set parallel.tensor=3"), 78);
  EXPECT_TRUE(said("'parallel.tensor': 3 replicas for layers that are cut in 2"));
  EXPECT_EQ(run("config show cut.toml --plan --json --set parallel.pipeline=3"), 78);
  EXPECT_EQ(nlohmann::json::parse(out)["error"]["code"], "bad-job") << out;
}

TEST_F(plan_command, has_the_memory_alone_where_replicas_do_not_train_in_step) {
  const std::string apart =
    "config show cut.toml --plan --set model.cuts=1 --set model.cut= --set parallel.tensor=1 ";
  ASSERT_EQ(run(apart + "--set training.strategy=parameters --json"), 0) << err;
  const auto plan = nlohmann::json::parse(out);
  ASSERT_EQ(plan["processes"].size(), 1u);
  EXPECT_GT(plan["processes"][0]["memory"]["parameters"], 0);
  EXPECT_FALSE(plan.contains("replicas")) << "each has a whole model";
}

TEST_F(plan_command, tells_of_the_nodes_of_a_cluster) {
  folder.write("cluster.toml", two_nodes + "memory = \"2 GiB\"\n");
  ASSERT_EQ(run("config show cluster.toml --plan"), 0) << err;
  EXPECT_TRUE(test::contains(out, "\n1        b        0-1     0-2     1 of 2 "));
  EXPECT_TRUE(test::contains(out, "\na, b "));
  ASSERT_EQ(run("config show cluster.toml --plan --json"), 0) << err;
  const auto plan = nlohmann::json::parse(out);
  EXPECT_EQ(plan["processes"][1]["limit"], uint64_t{2} << 30);
  EXPECT_EQ(plan["process_links"][0]["forward"], 32 * 16 * 4);
}

TEST_F(plan_command, refuses_nodes_that_have_no_whole_group_or_no_room) {
  folder.write("cluster.toml", two_nodes);
  EXPECT_EQ(run("config show cluster.toml --plan --set parallel.pipeline=2"), 78);
  EXPECT_TRUE(said("'parallel.tensor': a group needs 4 replicas, the nodes have 2 in all"));
  folder.write("cluster.toml", two_nodes + "memory = \"1 MiB\"\n");
  EXPECT_EQ(run("config show cluster.toml --plan"), 78);
  EXPECT_TRUE(said("node.memory says 1.0 MiB"));
}

// 400 MiB of parameters, or what they are stated to have, are too little for it.
TEST_F(plan_command, training_that_does_not_fit_is_refused_before_it_begins) {
  folder.write("cluster.toml", two_nodes + "memory = \"1 MiB\"\n");
  EXPECT_EQ(run("launch cluster.toml --json --set parallel.tensor=1"), 78);
  EXPECT_TRUE(said("node 'b' takes about "));
  EXPECT_TRUE(said("node.memory says 1.0 MiB"));
  EXPECT_EQ(nlohmann::json::parse(out)["error"]["code"], "bad-job") << out;
  EXPECT_FALSE(folder.has("runs/cluster/model.safetensors"));
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take more address space than the limit";
#endif
  EXPECT_EQ(run_with_kibibytes(1'600'000, "train cut.toml --json --set model.hidden=[9000,9000] "
                                          "--set runtime.threads=1"),
            78);
  EXPECT_TRUE(said("training takes about "));
  EXPECT_TRUE(said("are left of its address space (ulimit -v)"));
  EXPECT_EQ(nlohmann::json::parse(out)["error"]["code"], "bad-job") << out;
  EXPECT_FALSE(folder.has("runs/cut/model.safetensors"));
  EXPECT_EQ(run_with_kibibytes(1'600'000, "train cut.toml --set runtime.threads=1"), 0) << err;
}

TEST_F(plan_command, training_says_who_shares_the_model_and_its_result_does_not) {
  const std::string train = "train cut.toml --json --overwrite --set training.epochs=2";
  ASSERT_EQ(run(train), 0) << err;
  EXPECT_TRUE(said("model     neural-network 4-16-16-2, 386 parameters; "
                   "categorical-cross-entropy, layers cut in 2: outputs inputs none\n"));
  EXPECT_TRUE(
    said("2 slices, synchronous, 1 group of 2 replicas (tensor 2, pipeline 1) on one thread; "));
  const auto shared = nlohmann::json::parse(out);
  ASSERT_EQ(run(train + " --set parallel.tensor=1 --set parallel.pipeline=2"), 0) << err;
  const auto stages = nlohmann::json::parse(out);
  EXPECT_EQ(shared["parameters_sha256"], stages["parameters_sha256"]);
  EXPECT_EQ(shared["job_sha256"], stages["job_sha256"]);
  EXPECT_EQ(run(train + " --set parallel.pipeline=3"), 78);
  EXPECT_TRUE(said("'parallel.pipeline': 3 stages for 2 segments\n"));
}

// What is typed wrong, and who asks for help.

class usage : public test::model_commands {
protected:
  void SetUp() override {
    folder.write("tiny.toml", "[data]\nsynthetic = \"classification\"\nrows = 64\nfeatures = 4\n");
  }
};

TEST_F(usage, wrong_usage_ends_with_2_and_a_suggestion) {
  EXPECT_EQ(run("trian tiny.toml"), 2);
  EXPECT_EQ(err, "troupe: error: unknown command 'trian'\n  hint: did you mean 'train'?\n");
  EXPECT_EQ(run("train tiny.toml --epochs 5"), 2);
  EXPECT_EQ(err, "troupe: error: there is no option '--epochs'\n"
                 "  hint: keys of a job are set by --set training.epochs=5\n");
  const std::pair<const char*, const char*> wrong[] = {
    {"config chek tiny.toml", "did you mean 'check'?"},
    {"train tiny.toml --jsn", "did you mean '--json'?"},
    {"train tiny.toml --batch-size=8", "--set training.batch_size=8"},
    {"train tiny.toml --lr", "--set optimizer.learning_rate=VALUE"},
    {"train", "see 'troupe train --help'"},
    {"train tiny.toml -o there", "there is no option '-o'\n  hint: keys of a job are set by --set "
                                 "output.directory=there\n"},
    {"train tiny.toml --set training.epochs=1 training.patience=2",
     "of its own: --set training.patience=2"},
    {"sweep -o there", "see 'troupe sweep --help'"}}; // -o is an option there
  for (const auto& [arguments, answer] : wrong) {
    EXPECT_EQ(run(arguments), 2) << arguments;
    EXPECT_TRUE(said(answer));
  }
}

TEST_F(usage, a_cluster_whose_certificates_are_elsewhere_is_right_and_they_are_named) {
  folder.write("ca.pem", "");
  folder.write("c.toml", "job = \"tiny.toml\"\n[tls]\nca = \"ca.pem\"\n[[node]]\nname = \"a\"\n"
                         "address = \"127.0.0.1:0\"\ndirector = true\n");
  EXPECT_EQ(run("config check c.toml"), 0) << err;
  EXPECT_EQ(out, "c.toml: ok\n");
  for (const auto* file : {"a.pem", "a.key"})
    EXPECT_TRUE(said("troupe: warning: " + std::string{file} + ": not on this machine"));
  EXPECT_FALSE(said("ca.pem"));
}

TEST_F(usage, help_is_given_to_who_asks_with_words) {
  for (const auto& [asked, shown] :
       {std::pair{"", "--help"}, {"help", "--help"}, {"help train", "train --help"}}) {
    ASSERT_EQ(run(shown), 0);
    const auto expected = out;
    EXPECT_EQ(run(asked), 0) << asked;
    EXPECT_EQ(out, expected) << asked;
  }
}

TEST_F(usage, a_reader_that_has_enough_is_no_matter_of_words) {
  run("version) 2>err | true", "(sleep 0.2; exec");
  EXPECT_EQ(err, "");
}

} // namespace
} // namespace troupe::plan_command_test
