// What is typed wrong, and who asks for help.

#include "tests/support/model_commands.hpp"

namespace troupe::usage_test {

class usage : public test::model_commands {
protected:
  void SetUp() override {
    folder.write("tiny.toml", "[data]\nsynthetic = \"classification\"\nrows = 64\nfeatures = 4\n");
  }
};

TEST_F(usage, wrong_usage_ends_with_2_and_a_suggestion) {
  EXPECT_EQ(run("trian tiny.toml"), 2);
  EXPECT_EQ(err, "troupe: error: unknown command 'trian'\n  hint: did you mean 'train'?\n");
  EXPECT_EQ(run("config chek tiny.toml"), 2);
  EXPECT_TRUE(said("did you mean 'check'?"));
  EXPECT_EQ(run("train tiny.toml --jsn"), 2);
  EXPECT_TRUE(said("did you mean '--json'?"));
  EXPECT_EQ(run("train tiny.toml --epochs 5"), 2);
  EXPECT_EQ(err, "troupe: error: there is no option '--epochs'\n"
                 "  hint: keys of a job are set by --set training.epochs=5\n");
  EXPECT_EQ(run("train tiny.toml --batch-size=8"), 2);
  EXPECT_TRUE(said("--set training.batch_size=8")) << err;
  EXPECT_EQ(run("train tiny.toml --lr"), 2);
  EXPECT_TRUE(said("--set optimizer.learning_rate=VALUE")) << err;
  EXPECT_EQ(run("train"), 2);
  EXPECT_TRUE(said("see 'troupe train --help'"));
  EXPECT_EQ(run("train tiny.toml -o there"), 2);
  EXPECT_TRUE(said("there is no option '-o'\n  hint: keys of a job are set by --set "
                   "output.directory=there\n"))
    << err;
  EXPECT_EQ(run("train tiny.toml --set training.epochs=1 training.patience=2"), 2);
  EXPECT_TRUE(said("of its own: --set training.patience=2")) << err;
  EXPECT_EQ(run("sweep -o there"), 2);
  EXPECT_TRUE(said("see 'troupe sweep --help'")) << "-o is an option there: " << err;
}

TEST_F(usage, a_cluster_whose_certificates_are_elsewhere_is_right_and_they_are_named) {
  folder.write("ca.pem", "");
  folder.write("c.toml", "job = \"tiny.toml\"\n[tls]\nca = \"ca.pem\"\n[[node]]\nname = \"a\"\n"
                         "address = \"127.0.0.1:0\"\ndirector = true\n");
  EXPECT_EQ(run("config check c.toml"), 0) << err;
  EXPECT_EQ(out, "c.toml: ok\n");
  for (const auto* file : {"a.pem", "a.key"})
    EXPECT_TRUE(said("troupe: warning: " + std::string{file} + ": not on this machine")) << err;
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
  run_after("(sleep 0.2; exec ", "version) 2>err | true");
  EXPECT_EQ(err, "");
}

} // namespace troupe::usage_test
