#include "app/doctor/machine_facts.hpp"

#include "app/cluster/cluster_address.hpp"
#include "app/cluster/cluster_schema.hpp"
#include "models/base/arithmetic.hpp"
#include "models/device/device_queue.hpp"
#include "models/device/on_devices.hpp"

#include <openssl/asn1.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace troupe {

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file{path};
  return {std::istreambuf_iterator<char>{file}, {}};
}

// Where this process stands in the tree of control groups: the line "0::/PATH" (version 2).
std::optional<double> own_core_quota() {
  std::ifstream groups{"/proc/self/cgroup"};
  for (std::string line; std::getline(groups, line);)
    if (line.starts_with("0::/"))
      if (const auto own = quota_of(text_of("/sys/fs/cgroup" + line.substr(3) + "/cpu.max")))
        return own;
  return quota_of(text_of("/sys/fs/cgroup/cpu.max")); // the root, as a container sees it
}

std::optional<uint64_t> descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::nullopt;
  return limit.rlim_cur;
}

int64_t nanoseconds(const timespec& x) {
  return int64_t{x.tv_sec} * 1'000'000'000 + x.tv_nsec;
}

void look_at_clock(machine_facts& out) {
  timespec step{};
  clock_getres(CLOCK_MONOTONIC, &step);
  out.clock_step_ns = nanoseconds(step);
  int64_t last = 0;
  for (int i = 0; i < 1000; ++i) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    out.clock_goes_back |= nanoseconds(now) < last;
    last = nanoseconds(now);
  }
}

// Tries to bind one address; the failure says why not.
port_state tried(const std::string& address) {
  cluster_plan plan;
  plan.nodes.push_back({"here", address, address, true, 1, 1});
  try {
    const bound_sockets bound{plan, {""}};
    return port_state::free;
  } catch (const failure& error) {
    if (error.code() == failure_code::cannot_create)
      return port_state::in_use;
    return error.code() == failure_code::no_permission ? port_state::forbidden
                                                       : port_state::elsewhere;
  }
}

// A name server that takes longer to answer is a fault of its own.
constexpr milliseconds name_patience{5'000};

bool is_known(const std::string& address) {
  endpoint where;
  return !read_address(address, where) && !resolve(where, name_patience).addresses.empty();
}

std::string with_any_port(const std::string& address) {
  endpoint where;
  read_address(address, where);
  where.port = 0;
  return to_string(where);
}

int64_t seconds_until(const ASN1_TIME* when) {
  int days = 0;
  int seconds = 0;
  if (!ASN1_TIME_diff(&days, &seconds, nullptr, when))
    return 0;
  return int64_t{days} * 86'400 + seconds;
}

double product_gflops(const device_facts& which) {
  const size_t size = which.is_processor ? 256 : 1024;
  constexpr int rounds = 8;
  const auto queue = device_queue::make(open_device(which));
  const auto from = queue->make_buffer(size * size), to = queue->make_buffer(size * size);
  const auto matrix = products::matrix_of(from.values().data(), size, size);
  const auto multiply = [&](int count) {
    for (int i = 0; i < count; ++i)
      products::multiply(matrix, matrix, products::result_of(to.values().data(), size, size));
    queue->copy_of(to.values().first(1));
  };
  multiply(1); // compiles
  const auto begin = std::chrono::steady_clock::now();
  multiply(rounds);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return 2e-9 * rounds * static_cast<double>(size * size * size) / took.count();
}

} // namespace

std::optional<double> quota_of(const std::string& cpu_max) {
  const auto* end = cpu_max.data() + cpu_max.size();
  double quota = 0;
  double period = 0;
  const auto first = std::from_chars(cpu_max.data(), end, quota);
  if (first.ec != std::errc{} || first.ptr == end)
    return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, period);
  if (second.ec != std::errc{} || !(period > 0) || !(quota > 0))
    return std::nullopt;
  return quota / period;
}

machine_facts look_at_machine() {
  machine_facts result;
  result.core_count = std::max(1u, std::thread::hardware_concurrency());
  result.core_quota = own_core_quota();
  result.instructions = products::instructions_here();
  result.arithmetic = own_arithmetic();
  result.descriptors = descriptor_limit();
  look_at_clock(result);
  return result;
}

std::vector<device_state> look_at_devices() {
  std::vector<device_state> result;
  for (const auto& x : devices_here()) {
    auto& one = result.emplace_back(device_state{x, self_test(x)});
    try {
      if (one.problem.empty())
        one.product_gflops = product_gflops(x);
    } catch (const device_error& problem) {
      one.problem = problem.what();
    }
  }
  return result;
}

folder_facts look_at_folder(const std::string& path) {
  namespace fs = std::filesystem;
  folder_facts result{path, {}, false, 0};
  std::error_code ignored;
  fs::path nearest = fs::absolute(path, ignored);
  while (!fs::exists(nearest, ignored) && nearest.has_relative_path())
    nearest = nearest.parent_path();
  result.nearest = nearest.string();
  result.is_writable =
    fs::is_directory(nearest, ignored) && access(nearest.c_str(), W_OK | X_OK) == 0;
  struct statvfs figures {};
  if (statvfs(nearest.c_str(), &figures) == 0)
    result.free_bytes = uint64_t{figures.f_bavail} * figures.f_frsize;
  return result;
}

port_state look_at_port(const cluster_node& node) {
  if (!is_known(node.address))
    return port_state::unknown_host;
  // Whether the node belongs to this machine: "0.0.0.0:7400" to listen on could be bound on any.
  endpoint dialled;
  read_address(node.address, dialled);
  if (!is_any_address(dialled) && tried(with_any_port(node.address)) == port_state::elsewhere)
    return port_state::elsewhere;
  return tried(node.listen.empty() ? node.address : node.listen);
}

certificate_file_facts look_at_certificate(const std::string& path) {
  certificate_file_facts result;
  result.file = path;
  const std::unique_ptr<FILE, int (*)(FILE*)> file{std::fopen(path.c_str(), "re"), &std::fclose};
  if (!file)
    return result;
  result.is_there = true;
  const std::unique_ptr<X509, void (*)(X509*)> certificate{
    PEM_read_X509(file.get(), nullptr, nullptr, nullptr), &X509_free};
  if (!certificate)
    return result;
  result.is_certificate = true;
  result.starts_in_seconds = seconds_until(X509_get0_notBefore(certificate.get()));
  result.ends_in_seconds = seconds_until(X509_get0_notAfter(certificate.get()));
  return result;
}

key_facts look_at_key(const std::string& path) {
  struct stat facts {};
  const bool is_there = stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
  return {path, is_there && access(path.c_str(), R_OK) == 0,
          is_there && (facts.st_mode & (S_IRGRP | S_IROTH)) != 0};
}

} // namespace troupe
