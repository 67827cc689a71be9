#include "app/page/page_request.hpp"

#include <gtest/gtest.h>

#include <string>

namespace troupe::page_request_test {

namespace {

using state = page_reading::state;

std::string get(const std::string& target, const std::string& headers = "Host: localhost\r\n") {
  return "GET " + target + " HTTP/1.1\r\n" + headers + "\r\n";
}

unsigned refusal_of(const std::string& bytes) {
  const auto found = read_page_request(bytes);
  return found.is == state::refused ? found.status : 0;
}

} // namespace

TEST(page_request, a_browsers_request_is_read) {
  const auto found = read_page_request(
    get("/api/status?x=1", "Host: 127.0.0.1:7465\r\nOrigin: http://a\r\nSec-Fetch-Site: none\r\n"
                           "Accept: */*\r\nAuthorization: Bearer a1\r\nIf-None-Match: \"12\"\r\n"));
  ASSERT_EQ(found.is, state::complete);
  page_request expected;
  expected.path = "/api/status";
  expected.query = "x=1";
  expected.host = "127.0.0.1:7465";
  expected.origin = "http://a";
  expected.fetch_site = "none";
  expected.accept = "*/*";
  expected.authorization = "Bearer a1";
  expected.entity_tag = "\"12\"";
  EXPECT_EQ(found.request, expected);
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

} // namespace troupe::page_request_test
