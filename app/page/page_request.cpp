#include "app/page/page_request.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>

#include <algorithm>

namespace troupe {

namespace {

namespace http = boost::beast::http;

page_reading refused(unsigned status) {
  return {page_reading::state::refused, status, {}};
}

std::string text_of(boost::beast::string_view x) {
  return {x.data(), x.size()};
}

// A header must be there once: of two, a proxy on the way might read the other one.
bool is_twice(const http::request<http::empty_body>& x, http::field name) {
  return x.count(name) > 1;
}

unsigned fault_of(const http::request<http::empty_body>& x) {
  if (x.version() != 10 && x.version() != 11)
    return 505;
  if (x.method() != http::verb::get && x.method() != http::verb::head)
    return 405;
  if (x.count(http::field::transfer_encoding) > 0)
    return 413;
  for (const auto name : {http::field::host, http::field::content_length, http::field::origin,
                          http::field::authorization})
    if (is_twice(x, name))
      return 400;
  const auto length = x.find(http::field::content_length);
  if (length != x.end() && length->value() != "0")
    return 413;
  if (x.target().empty() || x.target().front() != '/')
    return 400; // the form for proxies
  if (std::distance(x.begin(), x.end()) > static_cast<std::ptrdiff_t>(page_headers_max))
    return 431;
  return 0;
}

page_request request_of(const http::request<http::empty_body>& x) {
  const auto target = text_of(x.target());
  const auto question = std::min(target.find('?'), target.size());
  page_request result;
  result.is_head = x.method() == http::verb::head;
  result.path = target.substr(0, question);
  result.query = target.substr(std::min(question + 1, target.size()));
  result.host = text_of(x[http::field::host]);
  result.origin = text_of(x[http::field::origin]);
  result.fetch_site = text_of(x["Sec-Fetch-Site"]);
  result.accept = text_of(x[http::field::accept]);
  result.authorization = text_of(x[http::field::authorization]);
  result.entity_tag = text_of(x[http::field::if_none_match]);
  result.takes_gzip =
    x[http::field::accept_encoding].find("gzip") != boost::beast::string_view::npos;
  return result;
}

} // namespace

page_reading read_page_request(std::string_view bytes) {
  const auto end = bytes.substr(0, page_head_bytes_max).find("\r\n\r\n");
  if (end == std::string_view::npos)
    return bytes.size() < page_head_bytes_max ? page_reading{} : refused(431);
  http::request_parser<http::empty_body> parser;
  parser.header_limit(page_head_bytes_max);
  parser.body_limit(0);
  boost::system::error_code problem;
  parser.put(boost::asio::buffer(bytes.data(), end + 4), problem);
  if (problem == http::error::body_limit)
    return refused(413);
  if (problem == http::error::header_limit)
    return refused(431);
  if (problem == http::error::bad_version)
    return refused(505);
  if ((problem && problem != http::error::need_more) || !parser.is_header_done())
    return refused(400);
  if (const auto status = fault_of(parser.get()))
    return refused(status);
  return {page_reading::state::complete, 0, request_of(parser.get())};
}

} // namespace troupe
