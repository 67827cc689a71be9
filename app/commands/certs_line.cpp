#include "troupe/app/commands/certs_line.hpp"

#include <CLI/CLI.hpp>

namespace troupe {

namespace {

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
