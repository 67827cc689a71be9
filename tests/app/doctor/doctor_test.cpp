#include "app/doctor/doctor_judgement.hpp"

#include "models/base/arithmetic.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cstdlib>
#include <memory>

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe::doctor_test {
namespace {

using enum products::instruction_set;
using test::contains;
machine_facts good_machine() {
  return {4, {}, {avx2, portable}, arithmetic_name, 1024, 1};
}

// ---- Judging ------------------------------------------------------------------------------------

TEST(doctor, good_machine_has_nothing_to_complain_of) {
  const auto x = good_machine();
  for (const auto& one : {judge_processors(x, {}), judge_arithmetic(x, {}),
                          judge_descriptors(x, {}), judge_clock(x)}) {
    EXPECT_EQ(one.verdict, health::ok) << one.check;
    EXPECT_EQ(one.hint, "") << one.check;
  }
}

TEST(doctor, more_threads_than_cores_or_quota_are_warned_of) {
  auto x = good_machine();
  EXPECT_EQ(judge_processors(x, {4, {}, 0}).verdict, health::ok);
  EXPECT_EQ(judge_processors(x, {5, {}, 0}).verdict, health::warn);
  x.core_quota = 1.5;
  EXPECT_EQ(judge_processors(x, {1, {}, 0}).verdict, health::ok);
  const auto throttled = judge_processors(x, {});
  EXPECT_EQ(throttled.verdict, health::warn) << "all cores are used by default";
  EXPECT_TRUE(contains(throttled.what, "allows 1.5 at a time"));
}

TEST(doctor, wrong_arithmetic_and_instructions_that_are_not_here_are_mismatches) {
  auto x = good_machine();
  EXPECT_EQ(judge_arithmetic(x, {{}, avx2, 0}).verdict, health::ok);
  EXPECT_EQ(judge_arithmetic(x, {{}, portable, 0}).verdict, health::warn);
  const auto refused = judge_arithmetic(x, {{}, avx512, 0});
  EXPECT_EQ(refused.verdict, health::fail);
  EXPECT_EQ(refused.code, failure_code::mismatch);
  x.arithmetic = "products: 0 instead of 1, by avx2";
  const auto broken = judge_arithmetic(x, {});
  EXPECT_EQ(broken.code, failure_code::mismatch);
  EXPECT_TRUE(contains(broken.what, x.arithmetic));
  x = good_machine();
  x.instructions = {portable};
  EXPECT_EQ(judge_arithmetic(x, {}).verdict, health::warn) << "the same bits, slowly";
}

TEST(doctor, devices_are_told_and_a_wrong_one_fails_only_whom_wants_it) {
  const device_state good{{0, "card", "maker", false, uint64_t{8} << 30, 1 << 30, ""}, "", 1234};
  const device_state wrong{
    {1, "old card", "maker", false, 1 << 30, 1 << 30, ""}, "attention: other bits", 0};
  const auto all = judge_devices({good, wrong}, {});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].check, "device 0");
  EXPECT_EQ(all[0].verdict, health::ok);
  EXPECT_EQ(all[0].what,
            "card (maker), 8.0 GiB: the bits of the processor; products 1.23e+03 GFLOP/s");
  EXPECT_EQ(all[1].verdict, health::warn);
  EXPECT_TRUE(contains(all[1].what, "attention: other bits"));
  wishes wanted;
  wanted.device = "no such card";
  const auto refused = judge_devices({good, wrong}, wanted);
  ASSERT_EQ(refused.size(), 3u);
  EXPECT_EQ(refused[2].verdict, health::fail);
  EXPECT_EQ(refused[2].code, failure_code::mismatch);
  EXPECT_EQ(refused[2].check, "runtime.device");
}

TEST(doctor, every_node_of_a_cluster_takes_descriptors) {
  auto x = good_machine();
  x.descriptors = descriptors_base + 3 * descriptors_per_node;
  EXPECT_EQ(judge_descriptors(x, {{}, {}, 3}).verdict, health::ok);
  EXPECT_EQ(judge_descriptors(x, {{}, {}, 4}).verdict, health::fail);
  x.descriptors.reset();
  EXPECT_EQ(judge_descriptors(x, {{}, {}, 4000}).verdict, health::ok);
}

TEST(doctor, clock_that_goes_back_or_hardly_moves_is_told) {
  auto x = good_machine();
  x.clock_step_ns = clock_step_ns_max + 1;
  EXPECT_EQ(judge_clock(x).verdict, health::warn);
  x.clock_goes_back = true;
  EXPECT_EQ(judge_clock(x).verdict, health::fail);
}

TEST(doctor, folder_needs_room_and_permission) {
  folder_facts x{"runs/a", "/runs", true, free_bytes_low};
  EXPECT_EQ(judge_folder("output", x).verdict, health::ok);
  x.free_bytes = free_bytes_low - 1;
  EXPECT_EQ(judge_folder("output", x).verdict, health::warn);
  x.free_bytes = free_bytes_min - 1;
  EXPECT_EQ(judge_folder("output", x).code, failure_code::io_error);
  x.is_writable = false;
  const auto closed = judge_folder("output", x);
  EXPECT_EQ(closed.verdict, health::fail);
  EXPECT_EQ(closed.code, failure_code::cannot_create);
}

TEST(doctor, ports_have_the_exit_codes_of_a_run) {
  const cluster_node node{"main", "10.0.0.1:7400", "0.0.0.0:7400", true, 1, 1};
  EXPECT_EQ(judge_port(node, port_state::free).verdict, health::ok);
  EXPECT_EQ(judge_port(node, port_state::elsewhere).verdict, health::ok);
  EXPECT_EQ(judge_port(node, port_state::in_use).code, failure_code::cannot_create);
  EXPECT_EQ(judge_port(node, port_state::forbidden).code, failure_code::no_permission);
  const auto unknown = judge_port(node, port_state::unknown_host);
  EXPECT_EQ(unknown.verdict, health::fail);
  EXPECT_EQ(unknown.code, failure_code::missing_input);
  EXPECT_EQ(unknown.check, "node main");
}

TEST(doctor, certificate_is_good_from_its_first_to_its_last_second) {
  constexpr int64_t day = 86'400;
  certificate_file_facts x{"main.pem", true, true, -1, certificate_days_low * day};
  EXPECT_EQ(judge_certificate("c", x).verdict, health::ok);
  x.ends_in_seconds -= 1;
  EXPECT_EQ(judge_certificate("c", x).verdict, health::warn);
  x.ends_in_seconds = 0;
  EXPECT_EQ(judge_certificate("c", x).code, failure_code::no_permission);
  x.ends_in_seconds = day;
  x.starts_in_seconds = 1;
  EXPECT_TRUE(contains(judge_certificate("c", x).what, "in 1 day only"));
  x.is_certificate = false;
  EXPECT_EQ(judge_certificate("c", x).code, failure_code::bad_data);
  x.is_there = false;
  EXPECT_EQ(judge_certificate("c", x).code, failure_code::missing_input);
}

TEST(doctor, first_failure_decides_and_warnings_do_not) {
  findings all{{"a", health::ok, "fine", {}}, {"b", health::warn, "meek", "do"}};
  EXPECT_EQ(first_failed(all), nullptr);
  auto object = nlohmann::json::parse(doctor_json(all));
  EXPECT_EQ(object["verdict"], "warn");
  EXPECT_FALSE(object.contains("error"));
  all.push_back({"c", health::fail, "bad", "mend it", failure_code::io_error});
  all.push_back({"d", health::fail, "worse", "too", failure_code::internal});
  EXPECT_EQ(first_failed(all)->check, "c");
  object = nlohmann::json::parse(doctor_json(all));
  EXPECT_EQ(object["verdict"], "fail");
  EXPECT_EQ(object["checks"].size(), 4u);
  EXPECT_EQ(object["checks"][1]["hint"], "do");
  EXPECT_EQ(object["error"]["code"], "io-error");
  EXPECT_EQ(object["error"]["where"], "c");
}

TEST(doctor, report_is_aligned_and_hints_stand_below) {
  EXPECT_EQ(
    doctor_report({{"a", health::ok, "fine", {}}, {"long one", health::warn, "meek", "do"}}),
    "ok    a         fine\n"
    "warn  long one  meek\n"
    "                hint: do\n");
}

// ---- Looking ------------------------------------------------------------------------------------

TEST(doctor, quota_of_a_control_group_is_in_cores) {
  EXPECT_EQ(quota_of("150000 100000\n"), 1.5);
  for (const auto* text : {"max 100000\n", "", "150000", "150000 0", "-1 100000", "x y"})
    EXPECT_FALSE(quota_of(text)) << text;
}

TEST(doctor, machine_is_looked_at) {
  const auto x = look_at_machine();
  EXPECT_GE(x.core_count, 1u);
  EXPECT_TRUE(x.has(portable));
  EXPECT_EQ(x.arithmetic, arithmetic_name);
  EXPECT_GT(x.clock_step_ns, 0);
  EXPECT_FALSE(x.clock_goes_back);
}

TEST(doctor, folder_that_is_missing_is_judged_by_what_there_is_of_its_path) {
  const temporary_folder folder;
  const auto x = look_at_folder(folder.path("runs/a"));
  EXPECT_EQ(x.nearest, folder.path());
  EXPECT_TRUE(x.is_writable);
  EXPECT_GT(x.free_bytes, 0u);
  folder.write("file", "");
  EXPECT_FALSE(look_at_folder(folder.path("file/a")).is_writable) << "a file is no folder";
  EXPECT_FALSE(folder.has("runs")) << "looking makes nothing";
}

cluster_node node_at(const std::string& address, const std::string& listen = {}) {
  return {"main", address, listen.empty() ? address : listen, true, 1, 1};
}

// A socket that listens on a port of its own.
class listener {
public:
  listener() : descriptor_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(descriptor_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(descriptor_, 1), 0);
    getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  ~listener() { close(descriptor_); }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string port() const { return std::to_string(port_); }

private:
  int descriptor_;
  uint16_t port_ = 0;
};

TEST(doctor, port_is_free_or_in_use_or_elsewhere) {
  const listener taken;
  EXPECT_EQ(look_at_port(node_at(taken.address())), port_state::in_use);
  EXPECT_EQ(look_at_port(node_at("127.0.0.1:0")), port_state::free);
  EXPECT_EQ(look_at_port(node_at("127.0.0.1:1", taken.address())), port_state::in_use)
    << "what it listens on counts";
  // 192.0.2.1 is nobody's: it is there for documentation.
  EXPECT_EQ(look_at_port(node_at("192.0.2.1:7400", "0.0.0.0:" + taken.port())),
            port_state::elsewhere);
  EXPECT_EQ(look_at_port(node_at("no-host.invalid:7400")), port_state::unknown_host);
}

// Writes a certificate that is valid between these moments from now, in seconds.
void write_certificate(const std::string& path, long begin, long end) {
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key{
    EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"), &EVP_PKEY_free};
  const std::unique_ptr<X509, void (*)(X509*)> x{X509_new(), &X509_free};
  X509_gmtime_adj(X509_getm_notBefore(x.get()), begin);
  X509_gmtime_adj(X509_getm_notAfter(x.get()), end);
  X509_set_pubkey(x.get(), key.get());
  ASSERT_GT(X509_sign(x.get(), key.get(), nullptr), 0);
  const std::unique_ptr<FILE, int (*)(FILE*)> file{std::fopen(path.c_str(), "w"), &std::fclose};
  ASSERT_TRUE(file && PEM_write_X509(file.get(), x.get()));
}

TEST(doctor, dates_of_a_certificate_are_read) {
  const temporary_folder folder;
  write_certificate(folder.path("a.pem"), -100, 100'000);
  const auto x = look_at_certificate(folder.path("a.pem"));
  EXPECT_TRUE(x.is_certificate);
  EXPECT_NEAR(static_cast<double>(x.starts_in_seconds), -100, 20);
  EXPECT_NEAR(static_cast<double>(x.ends_in_seconds), 100'000, 20);
  folder.write("b.pem", "hello");
  EXPECT_TRUE(look_at_certificate(folder.path("b.pem")).is_there);
  EXPECT_FALSE(look_at_certificate(folder.path("b.pem")).is_certificate);
  EXPECT_FALSE(look_at_certificate(folder.path("none.pem")).is_there);
}

TEST(doctor, key_that_others_can_read_is_told) {
  const temporary_folder folder;
  const auto path = folder.write("main.key", "secret");
  chmod(path.c_str(), 0600);
  EXPECT_EQ(judge_key("k", look_at_key(path)).verdict, health::ok);
  chmod(path.c_str(), 0640);
  EXPECT_EQ(judge_key("k", look_at_key(path)).verdict, health::warn);
  EXPECT_EQ(judge_key("k", look_at_key(folder.path("none"))).code, failure_code::missing_input);
}

// ---- The command --------------------------------------------------------------------------------

class doctor_command_test : public testing::Test {
protected:
  int run(const std::string& arguments) {
    const auto line = "cd '" + folder.path() +
                      "' && env -u OPENBLAS_CORETYPE '" TROUPE_BINARY_DIR "/bin/troupe' doctor " +
                      arguments + " >out 2>err";
    const int status = std::system(line.c_str());
    out = folder.read("out");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::string cluster(const std::string& address, const std::string& more = {}) {
    return more +
           "[data]\nsynthetic = \"classification\"\n[[node]]\nname = \"main\"\naddress = \"" +
           address + "\"\ndirector = true\n";
  }

  temporary_folder folder;
  std::string out;
};

TEST_F(doctor_command_test, machine_alone_is_examined_without_a_file) {
  ASSERT_EQ(run("--json"), 0) << out;
  const auto object = nlohmann::json::parse(out);
  EXPECT_EQ(object["checks"].size(), 4 + devices_here().size());
  EXPECT_EQ(object["checks"][0]["check"], "processors");
}

TEST_F(doctor_command_test, cluster_is_examined_port_by_port) {
  const listener taken;
  folder.write("free.toml", cluster("127.0.0.1:0"));
  folder.write("taken.toml", cluster(taken.address()));
  EXPECT_EQ(run("free.toml"), 0) << out;
  EXPECT_TRUE(contains(out, "node main"));
  EXPECT_TRUE(contains(out, "runs/free, "));
  EXPECT_FALSE(folder.has("runs"));
  EXPECT_EQ(run("taken.toml --json"), 73) << out;
  EXPECT_EQ(nlohmann::json::parse(out)["error"]["where"], "node main");
}

TEST_F(doctor_command_test, certificates_of_this_machine_are_examined) {
  folder.write("tls.toml", cluster("127.0.0.1:0") + "[tls]\nca = \"ca.pem\"\n");
  EXPECT_EQ(run("tls.toml --json"), 66) << out;
  write_certificate(folder.path("ca.pem"), -10, 100 * 86'400);
  write_certificate(folder.path("main.pem"), -10, -5);
  folder.write("main.key", "");
  EXPECT_EQ(run("tls.toml --json"), 77) << out;
  EXPECT_EQ(nlohmann::json::parse(out)["error"]["where"], "certificate of main");
  write_certificate(folder.path("main.pem"), -10, 100 * 86'400);
  EXPECT_EQ(run("tls.toml"), 0) << out;
  EXPECT_TRUE(contains(out, "ok    authority"));
}

TEST_F(doctor_command_test, jobs_and_their_errors_are_examined_too) {
  folder.write("job.toml", "[data]\nsynthetic = \"classification\"\n");
  EXPECT_EQ(run("job.toml --set runtime.threads=999"), 0) << "a warning is no failure";
  EXPECT_TRUE(contains(out, "warn  processors"));
  EXPECT_EQ(run("job.toml --set runtime.instructions=portable"), 0) << out;
  EXPECT_TRUE(contains(out, "warn  arithmetic"));
  EXPECT_EQ(run("job.toml --set runtime.instructions=neon"), 76) << out;
  EXPECT_EQ(run("none.toml"), 66);
  EXPECT_EQ(run("job.toml --set data.row=3"), 78);
  EXPECT_EQ(run("job.toml --set data.synthetic= --set data.file=none.csv"), 66);
  EXPECT_TRUE(contains(out, "fail  training"));
}

TEST_F(doctor_command_test, split_models_are_examined_as_they_would_be_trained) {
  folder.write("cut.toml", "[data]\nsynthetic = \"classification\"\nrows = 64\nfeatures = 4\n"
                           "[model]\nhidden = [256, 256]\ncuts = 2\n"
                           "cut = [\"outputs\", \"inputs\", \"none\"]\n"
                           "[training]\nslices = 2\nreplicas = 1\n[parallel]\ntensor = 2\n");
  const std::string nodes =
    "job = \"cut.toml\"\n[[node]]\nname = \"a\"\naddress = \"127.0.0.1:0\"\ndirector = true\n"
    "[[node]]\nname = \"b\"\naddress = \"127.0.0.1:0\"\n";
  folder.write("cluster.toml", nodes);
  EXPECT_EQ(run("cluster.toml --set parallel.tensor=1 --set parallel.pipeline=2"), 0) << out;
  EXPECT_TRUE(contains(out, "memory of b"));
  EXPECT_TRUE(contains(out, "warn  replicas"));
  EXPECT_TRUE(contains(out, "data 1, tensor 1, pipeline 2; a stage waits for 33 % of a step"));
  EXPECT_EQ(run("cluster.toml --set parallel.pipeline=2 --json"), 78);
  EXPECT_TRUE(contains(out, "a group needs 4 replicas, the nodes have 2 in all"));
  folder.write("cluster.toml", nodes + "memory = \"1 MiB\"\n");
  EXPECT_EQ(run("cluster.toml"), 78);
  EXPECT_TRUE(contains(out, "node.memory says 1.0 MiB"));
  EXPECT_FALSE(folder.has("runs"));
}

} // namespace
} // namespace troupe::doctor_test
