#include "app/cluster/cluster_address.hpp"

#include "app/cluster/cluster_schema.hpp"
#include "app/cluster/node_choice.hpp"
#include "data/disk/atomic_file.hpp"
#include "data/text/failure.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace troupe {

namespace {

using address_list = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

address_list look_up(const endpoint& x, const std::string& place) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(x.host.c_str(), std::to_string(x.port).c_str(), &hints, &found);
  if (error != 0)
    throw failure(failure_code::missing_input,
                  "host '" + x.host + "' is unknown: " + gai_strerror(error), place,
                  "check the name");
  return {found, freeaddrinfo};
}

[[noreturn]] void cannot_bind(const endpoint& x, const std::string& place, int error) {
  const bool forbidden = error == EACCES || error == EPERM;
  std::string hint;
  if (error == EADDRINUSE)
    hint = "end the program that uses it, or use port 0 for any free one";
  else if (error == EADDRNOTAVAIL)
    hint = "'troupe launch' starts every node on this machine; on several use 'troupe node'";
  const auto code =
    error == EADDRNOTAVAIL ? failure_code::missing_input : failure_code::cannot_create;
  throw failure(forbidden ? failure_code::no_permission : code,
                "cannot listen on " + to_string(x) + ": " + std::strerror(error), place, hint);
}

// Bound to the address; -1 and errno when that is not possible.
int bound_to(const addrinfo& address, bool is_fixed) {
  const int descriptor =
    socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC, address.ai_protocol);
  if (descriptor < 0)
    return -1;
  // A port that was in use a moment ago may be used again; a picked port must be free.
  const int yes = 1;
  if (is_fixed)
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(descriptor, address.ai_addr, address.ai_addrlen) == 0)
    return descriptor;
  const int error = errno;
  close(descriptor);
  errno = error;
  return -1;
}

int bind_to(const endpoint& x, const std::string& place) {
  const auto addresses = look_up(x, place);
  for (const auto* one = addresses.get(); one; one = one->ai_next)
    if (const int descriptor = bound_to(*one, x.port != 0); descriptor >= 0)
      return descriptor;
  cannot_bind(x, place, errno);
}

uint16_t port_of(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
  if (address.ss_family == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

std::string with_port(const std::string& text, uint16_t port) {
  endpoint x;
  read_address(text, x);
  x.port = port;
  return to_string(x);
}

} // namespace

bound_sockets::bound_sockets(cluster_plan& plan, const std::vector<std::string>& places)
  : descriptors_(plan.nodes.size(), -1) {
  try {
    for (size_t i = 0; i < plan.nodes.size(); ++i) {
      auto& node = plan.nodes[i];
      endpoint listened;
      endpoint dialled;
      read_address(node.listen, listened);
      read_address(node.address, dialled);
      descriptors_[i] = bind_to(listened, places[i]);
      node.listen = with_port(node.listen, port_of(descriptors_[i]));
      if (dialled.port == 0)
        node.address = with_port(node.address, port_of(descriptors_[i]));
    }
  } catch (...) {
    close_all();
    throw;
  }
}

bound_sockets::~bound_sockets() {
  close_all();
}

void bound_sockets::close_all() {
  for (int& descriptor : descriptors_)
    if (descriptor >= 0)
      close(std::exchange(descriptor, -1));
}

std::string address_option(const cluster_node& node) {
  return node.name + "=" + node.address;
}

void apply_addresses(cluster_plan& plan, const std::vector<std::string>& addresses) {
  for (const auto& text : addresses) {
    const size_t equals = text.find('=');
    const auto index = plan.find(text.substr(0, equals));
    endpoint address;
    if (equals == std::string::npos || !index || read_address(text.substr(equals + 1), address))
      throw failure(failure_code::usage, "not of the form NAME=HOST:PORT", "--address " + text,
                    "name a node of the cluster file, as in main=127.0.0.1:7400");
    auto& node = plan.nodes[*index];
    node.address = text.substr(equals + 1);
    endpoint listened;
    if (!read_address(node.listen, listened) && listened.port == 0)
      node.listen = with_port(node.listen, address.port);
  }
}

namespace {

constexpr const char* director_address_name = "director-address";

std::string path_in(const std::string& directory) {
  return (std::filesystem::path{directory} / director_address_name).string();
}

/// The address ("host:port") that a director wrote. Throws failure(unavailable) when there is none.
std::string read_director_address(const std::string& directory) {
  const auto path = path_in(directory);
  std::ifstream in{path};
  std::string result;
  if (!std::getline(in, result) || result.empty())
    throw failure(failure_code::unavailable,
                  "no director tells its port here: the cluster is not running, or was started in "
                  "another folder",
                  path, "ask from the folder that it was started in, or give the director a port");
  return result;
}

endpoint director_address(const loaded_cluster& cluster) {
  const auto& director = cluster.plan.nodes[director_of(cluster.plan)];
  const auto fixed = parse_endpoint(director.address);
  return fixed.port != 0
           ? fixed
           : parse_endpoint(read_director_address(cluster.job.value.output.directory));
}

bool is_readable(const std::string& path) {
  return ::access(path.c_str(), R_OK) == 0;
}

// Any certificate of the authority will do: the one given, else that of the first node whose key
// this process can read, which is the node of this machine.
tls_files own_files(const loaded_cluster& cluster, const visit_files& files) {
  if (!files.certificate.empty())
    return {cluster.tls->authority_file, files.certificate, files.key};
  for (size_t i = 0; i < cluster.plan.nodes.size(); ++i)
    if (const auto found = *tls_of(cluster, i);
        is_readable(found.certificate) && is_readable(found.key))
      return found;
  if (const auto& [certificate, key] = cluster.tls->of_joiners;
      cluster.plan.join && is_readable(certificate) && is_readable(key))
    return {cluster.tls->authority_file, certificate, key};
  return *tls_of(cluster, director_of(cluster.plan)); // the failure names its files
}

std::optional<visit_security> security_of(const loaded_cluster& cluster, const visit_files& files) {
  if (!cluster.tls)
    return std::nullopt;
  return visit_security{own_files(cluster, files),
                        cluster.plan.nodes[director_of(cluster.plan)].name};
}

} // namespace

std::string status_of(const loaded_cluster& cluster, const visit_files& files) {
  return ask_for_status(director_address(cluster), visit_deadline, security_of(cluster, files));
}

told_address::told_address(const std::string& directory, const std::string& address)
  : path_(path_in(directory)) {
  write_file_atomically(path_, address + '\n');
}

told_address::~told_address() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

} // namespace troupe
