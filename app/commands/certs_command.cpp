#include "actors/net/socket/tls_identity.hpp"
#include "app/cluster/cluster_file.hpp"
#include "app/cluster/node_choice.hpp"
#include "app/commands/commands.hpp"
#include "app/terminal/output.hpp"
#include "data/disk/atomic_file.hpp"
#include "data/disk/open_file.hpp"
#include "data/identity/certificate.hpp"
#include "data/text/failure.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <chrono>
#include <filesystem>

namespace troupe {

namespace {

using std::chrono::days;
using std::chrono::sys_seconds;

constexpr const char* authority_certificate = "ca.pem";
constexpr const char* authority_key = "ca.key";

// Clocks of two machines may differ by so much.
constexpr std::chrono::hours clock_difference{1};

sys_seconds now() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

validity from_now(uint32_t day_count) {
  return {now() - clock_difference, now() + days{day_count}};
}

std::string date_text(sys_seconds when) {
  const std::chrono::year_month_day date{std::chrono::floor<days>(when)};
  return fmt::format("{}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

void expect_new(const std::vector<std::string>& paths, bool overwrites) {
  for (const auto& path : paths)
    if (!overwrites && std::filesystem::exists(std::filesystem::symlink_status(path)))
      throw failure(failure_code::cannot_create, "the file is there already", path,
                    "give --overwrite to replace it");
}

// The key first: a certificate without its key proves nothing.
void write_identity(const identity_texts& x, const std::string& certificate, const std::string& key,
                    bool overwrites) {
  write_file_atomically(key, x.key, {mode_for_owner, overwrites});
  write_file_atomically(certificate, x.certificate, {mode_for_everyone, overwrites});
}

std::string names_text(const certificate_facts& x) {
  std::string result;
  for (const auto& name : x.names)
    result += (result.empty() ? "" : ", ") + name;
  return x.is_authority   ? "authority \"" + x.subject + "\""
         : result.empty() ? "no name"
                          : "node " + result;
}

void expect_good_today(const certificate_facts& x, const std::string& path) {
  if (x.time.end < now())
    throw failure(failure_code::no_permission,
                  names_text(x) + ": this certificate has expired on " + date_text(x.time.end),
                  path, "issue another one: troupe certs issue NAME --overwrite");
  if (x.time.begin > now())
    throw failure(failure_code::no_permission,
                  names_text(x) + ": this certificate is not valid before " +
                    date_text(x.time.begin),
                  path, "is this machine's clock right?");
}

std::string certificate_text(const std::string& path, const std::string& content) {
  const auto facts = read_certificate(content, path);
  expect_good_today(facts, path);
  const auto left = std::chrono::round<days>(facts.time.end - now()).count();
  return path + ": " + names_text(facts) + ", signed by \"" + facts.issuer + "\", good until " +
         date_text(facts.time.end) + " (" + std::to_string(left) + " days)\n";
}

// Names the other file of the pair.
std::string pair_text(const std::string& certificate, const std::string& key) {
  if (!std::filesystem::exists(certificate) || !std::filesystem::exists(key))
    return {};
  if (!is_key_of({read_small_file(certificate), read_secret_file(key)}, key))
    throw failure(failure_code::no_permission,
                  "this key belongs to another certificate than " + certificate, key,
                  "use the two files of one 'troupe certs issue'");
  return key + ": belongs to " + certificate + ", readable by its owner only\n";
}

std::string text_of_cluster(const std::string& path) {
  auto cluster = load_cluster(path, {}, process_environment());
  if (cluster.plan.join)
    take_node(cluster, cluster.plan.join->accepts);
  if (!cluster.tls)
    return path + ": no [tls]: connections are not secured\n";
  const auto& authority = cluster.tls->authority_file;
  auto result = certificate_text(authority, read_small_file(authority));
  for (size_t i = 0; i < cluster.plan.nodes.size(); ++i) {
    const auto files = *checked_tls_of(cluster, i);
    result += certificate_text(files.certificate, read_small_file(files.certificate)) +
              pair_text(files.certificate, files.key);
  }
  return result;
}

std::string check_text(const std::string& path) {
  const auto content = read_small_file(path);
  const std::filesystem::path file{path};
  if (content.find("-----BEGIN CERTIFICATE") != std::string::npos)
    return certificate_text(path, content) +
           pair_text(path, std::filesystem::path{file}.replace_extension(".key").string());
  if (content.find("PRIVATE KEY-----") == std::string::npos)
    return text_of_cluster(path);
  read_secret_file(path);
  const auto pair = pair_text(std::filesystem::path{file}.replace_extension(".pem").string(), path);
  return pair.empty() ? path + ": a key, readable by its owner only\n" : pair;
}

/// Makes an authority: ca.pem and ca.key in the current folder.
int certs_ca_command(const certs_arguments& arguments) {
  expect_new({authority_certificate, authority_key}, arguments.overwrites);
  write_identity(make_authority(arguments.name, from_now(arguments.days)), authority_certificate,
                 authority_key, arguments.overwrites);
  print_result("ca.pem: give it to every node\nca.key: keep it secret, and away from the nodes\n");
  return 0;
}

/// Makes NAME.pem and NAME.key of each name in the current folder, signed by the ca.key there: of all or of none.
int certs_issue_command(const certs_arguments& arguments) {
  const identity_texts authority{read_small_file(authority_certificate),
                                 read_secret_file(authority_key)};
  std::vector<std::string> paths;
  for (const auto& name : arguments.names)
    paths.insert(paths.end(), {name + ".pem", name + ".key"});
  expect_new(paths, arguments.overwrites); // all or none
  for (const auto& name : arguments.names) {
    const auto issued = issue_certificate(authority, name, from_now(arguments.days));
    write_identity(issued, name + ".pem", name + ".key", arguments.overwrites);
    print_result(name + ".pem, " + name + ".key: give both to node " + name +
                 ", and to nobody else\n");
  }
  return 0;
}

/// Prints what a certificate, a key or every file of a cluster's [tls] holds; throws the first
/// fault.
int certs_check_command(const certs_arguments& arguments) {
  print_result(check_text(arguments.file));
  return 0;
}

void add_certificate_options(CLI::App& command, certs_arguments& x) {
  command.add_option("--days", x.days, "For how long it is good")->check(CLI::Range(1, 36500));
  command.add_flag("--overwrite", x.overwrites, "Replaces files that are there");
}

} // namespace

void add_certs(CLI::App& app, certs_line& x, std::function<int()>& chosen) {
  auto* certs = app.add_subcommand("certs", "Makes and checks the certificates of a cluster");
  certs->require_subcommand(1);
  certs->footer("Example:\n  troupe certs ca && troupe certs issue main");
  auto* ca = certs->add_subcommand("ca", "Makes an authority: ca.pem and ca.key, here");
  ca->add_option("--name", x.authority.name, "What people see in certificates it signs");
  add_certificate_options(*ca, x.authority);
  ca->footer("Example:\n  troupe certs ca");
  ca->callback([&] { chosen = [&x] { return certs_ca_command(x.authority); }; });
  auto* issue = certs->add_subcommand("issue", "Makes NAME.pem and NAME.key, signed by ca.key");
  issue->add_option("name", x.node.names, "Names of nodes in the cluster file")
    ->required()
    ->type_name("NAME");
  add_certificate_options(*issue, x.node);
  issue->footer("Example:\n  troupe certs issue main");
  issue->callback([&] { chosen = [&x] { return certs_issue_command(x.node); }; });
  auto* check = certs->add_subcommand("check", "Says what a certificate or key is good for");
  check->add_option("file", x.node.file, "A certificate, a key, or a cluster file")
    ->required()
    ->type_name("FILE");
  check->footer("Example:\n  troupe certs check main.pem");
  check->callback([&] { chosen = [&x] { return certs_check_command(x.node); }; });
}

} // namespace troupe
