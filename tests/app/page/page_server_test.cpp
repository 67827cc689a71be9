#include "app/page/page_server.hpp"

#include "app/page/page_request.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <thread>

namespace troupe::page_server_test {
namespace {

using namespace std::chrono_literals;

constexpr auto hang = 60s; ///< reached only by what hangs

std::set<std::string> threads() {
  std::set<std::string> result;
  for (const auto& one : std::filesystem::directory_iterator{"/proc/self/task"})
    result.insert(one.path().filename());
  return result;
}

/// How often a thread has gone to sleep. Opened beforehand: it can be read without a descriptor left.
class sleeps_of {
public:
  explicit sleeps_of(const std::string& thread)
    : file_(::open(("/proc/self/task/" + thread + "/status").c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~sleeps_of() { ::close(file_); }
  sleeps_of(const sleeps_of&) = delete;
  sleeps_of& operator=(const sleeps_of&) = delete;

  long count() const {
    std::string text(16'384, '\0');
    const auto size = ::pread(file_, text.data(), text.size(), 0);
    text.resize(size > 0 ? static_cast<size_t>(size) : 0);
    constexpr std::string_view name = "\nvoluntary_ctxt_switches:\t";
    const auto at = text.find(name);
    long result = -1;
    if (at != std::string::npos)
      std::from_chars(text.data() + at + name.size(), text.data() + text.size(), result);
    return result;
  }

private:
  int file_;
};

/// While it lives this process can open nothing.
class no_descriptor_left {
public:
  no_descriptor_left() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int lowest_free = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::close(lowest_free);
    auto limit = before_;
    limit.rlim_cur = static_cast<rlim_t>(lowest_free);
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  ~no_descriptor_left() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  no_descriptor_left(const no_descriptor_left&) = delete;
  no_descriptor_left& operator=(const no_descriptor_left&) = delete;

private:
  rlimit before_{};
};

uint16_t port_in(const std::string& address) {
  return static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
}

// A server that spins does not sleep, however long it is watched.
TEST(page_server, sleeps_while_it_cannot_accept_and_answers_when_it_can) {
  const auto before = threads();
  const page_server server{page_place{"0"}, std::make_shared<page_feed>("x", page_source::live)};
  std::string own;
  for (const auto& one : threads())
    if (!before.contains(one))
      own = one;
  const sleeps_of sleeps{own};
  ASSERT_GE(sleeps.count(), 0);
  const auto port = port_in(server.address());
  const int visitor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{std::chrono::seconds{hang}.count(), 0};
  ::setsockopt(visitor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  {
    const no_descriptor_left full;
    ASSERT_EQ(::open("/dev/null", O_RDONLY | O_CLOEXEC), -1);
    ASSERT_EQ(errno, EMFILE);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(port);
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::connect(visitor, reinterpret_cast<const sockaddr*>(&where), sizeof where), 0);
    const auto request =
      "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) + "\r\n\r\n";
    ASSERT_EQ(::send(visitor, request.data(), request.size(), 0),
              static_cast<ssize_t>(request.size()));
    const auto deadline = std::chrono::steady_clock::now() + hang;
    const auto first = sleeps.count();
    while (sleeps.count() < first + 5 && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(1ms);
    EXPECT_GE(sleeps.count(), first + 5) << "it spins";
  }
  std::string answer(64, '\0');
  const auto got = ::recv(visitor, answer.data(), answer.size(), 0);
  ::close(visitor);
  ASSERT_GT(got, 0);
  EXPECT_EQ(answer.substr(0, 9), "HTTP/1.1 ");
}

using state = page_reading::state;

std::string get(const std::string& target, const std::string& headers = "Host: localhost\r\n") {
  return "GET " + target + " HTTP/1.1\r\n" + headers + "\r\n";
}

unsigned refusal_of(const std::string& bytes) {
  const auto found = read_page_request(bytes);
  return found.is == state::refused ? found.status : 0;
}

TEST(page_request, a_browsers_request_is_read) {
  const auto found = read_page_request(
    get("/api/status?x=1", "Host: 127.0.0.1:7465\r\nOrigin: http://a\r\nSec-Fetch-Site: none\r\n"
                           "Accept: */*\r\nAuthorization: Bearer a1\r\nIf-None-Match: \"12\"\r\n"));
  ASSERT_EQ(found.is, state::complete);
  EXPECT_EQ(found.request, (page_request{false, "/api/status", "x=1", "127.0.0.1:7465", "http://a",
                                         "none", "*/*", "Bearer a1", "\"12\""}));
}

TEST(page_request, a_head_is_read_when_its_last_byte_is_there) {
  const auto whole = get("/");
  for (size_t size = 0; size < whole.size(); ++size)
    ASSERT_EQ(read_page_request(whole.substr(0, size)).is, state::more) << size;
  EXPECT_EQ(read_page_request(whole).is, state::complete);
  EXPECT_EQ(read_page_request(whole + "what follows").is, state::complete);
}

TEST(page_request, what_is_no_request_for_a_page_is_refused) {
  EXPECT_EQ(refusal_of("POST / HTTP/1.1\r\nHost: a\r\n\r\n"), 405u);
  EXPECT_EQ(refusal_of("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n"), 405u);
  EXPECT_EQ(refusal_of(get("/", "Host: a\r\nContent-Length: 1\r\n")), 413u);
  EXPECT_EQ(refusal_of(get("/", "Host: a\r\nTransfer-Encoding: chunked\r\n")), 413u);
  EXPECT_EQ(refusal_of(get("http://elsewhere/")), 400u);
  EXPECT_EQ(refusal_of(get("/", "Host: a\r\nHost: b\r\n")), 400u) << "which of them?";
  EXPECT_EQ(refusal_of(get("/", "Host: a\r\nAuthorization: b\r\nAuthorization: c\r\n")), 400u);
  EXPECT_EQ(refusal_of("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 505u);
  EXPECT_EQ(refusal_of("\x16\x03\x01\r\n\r\n"), 400u) << "the beginning of TLS";
  EXPECT_EQ(refusal_of(std::string(page_head_bytes_max, 'x')), 431u);
  std::string headers;
  for (size_t i = 0; i <= page_headers_max; ++i)
    headers += "A" + std::to_string(i) + ": b\r\n";
  EXPECT_EQ(refusal_of(get("/", headers)), 431u);
}

} // namespace
} // namespace troupe::page_server_test
