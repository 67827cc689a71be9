#include "actors/net/clients/frame_line.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <span>
#include <string_view>
#include <utility>

namespace troupe {

// A frame's front and its values are written apart: the second must not wait until the peer confirms the first.
frame_line::frame_line(channel socket, bool is_server)
  : socket_(std::move(socket)), is_server_(is_server) {
  const int yes = 1;
  ::setsockopt(socket_.descriptor(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

void frame_line::end(std::string why) {
  is_over_ = true;
  if (problem_.empty())
    problem_ = std::move(why);
}

bool frame_line::may_come(const client_frame_form& form) const {
  if (form.kind == client_frame_kind::ping)
    return true;
  return form.from_client == is_server_ &&
         (!form.has_values || (value_count_ > 0 && (!is_server_ || allows_values_)));
}

std::optional<client_frame> frame_line::next() {
  if (!head_ && !heard_.empty() &&
      (heard_[0] == tls_alert_byte || heard_[0] == tls_handshake_byte)) {
    was_refused_ = true;
    return end("the other side secures its connections (TLS), and this one does not"), std::nullopt;
  }
  if (!head_ && heard_.size() >= client_head_bytes) {
    const auto head = read_client_head(std::string_view{heard_}.substr(0, client_head_bytes),
                                       value_count_, problem_);
    if (head && !may_come(*head->form))
      problem_ = "a frame that may not come now";
    if (!problem_.empty())
      return end({}), std::nullopt;
    head_ = head;
  }
  if (!head_ || heard_.size() < client_head_bytes + head_->body_bytes)
    return std::nullopt;
  const auto size = client_head_bytes + head_->body_bytes;
  const std::string_view all{heard_};
  auto result =
    read_client_frame(*head_, all.substr(0, client_head_bytes),
                      all.substr(client_head_bytes, head_->body_bytes), value_count_, problem_);
  if (!result)
    return end({}), std::nullopt;
  std::string rest{all.substr(size)};
  heard_.swap(rest); // gives the memory of a large frame back, which an assignment would not
  head_.reset();
  return result;
}

std::optional<client_frame> frame_line::read() {
  while (!is_over_) {
    if (auto result = next())
      return result;
    if (is_over_)
      break;
    const auto what = socket_.read(heard_);
    bytes_read_ += what.byte_count;
    was_refused_ = was_refused_ || what.is_refusal;
    if (what.is_over && what.byte_count == 0)
      end(what.problem.empty() ? "the other side has closed the connection" : what.problem);
    else if (what.byte_count == 0)
      break;
  }
  return std::nullopt;
}

void frame_line::send(const client_frame& x) {
  if (x.kind == client_frame_kind::order)
    std::erase_if(waiting_, [&](const outgoing& old) {
      const bool is_unsent = old.kind == x.kind && old.done == 0;
      waiting_bytes_ -= is_unsent ? old.front.size() : 0;
      return is_unsent;
    });
  waiting_.push_back({x.kind, client_frame_front(x), x.values});
  waiting_bytes_ += waiting_.back().front.size();
  flush();
}

void frame_line::flush() {
  while (!waiting_.empty() && !is_over_) {
    auto& x = waiting_.front();
    const auto values = std::as_bytes(x.values.values());
    const std::string_view body{reinterpret_cast<const char*>(values.data()), values.size()};
    const bool at_front = x.done < x.front.size();
    const auto rest =
      at_front ? std::string_view{x.front}.substr(x.done) : body.substr(x.done - x.front.size());
    if (rest.empty()) {
      waiting_bytes_ -= x.front.size();
      waiting_.pop_front();
      continue;
    }
    const auto sent = socket_.write(rest);
    x.done += sent.byte_count;
    bytes_written_ += sent.byte_count;
    if (sent.is_over) {
      was_refused_ = was_refused_ || sent.is_refusal;
      return end(sent.problem);
    }
    if (sent.byte_count == 0)
      return;
  }
}

} // namespace troupe
