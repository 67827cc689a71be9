#include "actors/net/carriers/carriers.hpp"

#include "actors/protocol/tensor_messages.hpp"

#include <caf/send.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace troupe {

namespace {

/// Maximum number of visitors without a way; one more, and the first of them goes.
constexpr size_t visitors_max = 64;

/// The first message of both sides on a socket of the host: names the link.
struct greeting_words {
  std::array<char, 8> what{'t', 'r', 'o', 'u', 'p', 'e', ' ', '1'};
  uint64_t token = 0;

  friend bool operator==(const greeting_words&, const greeting_words&) = default;
};

std::span<std::byte> bytes_of(greeting_words& x) {
  return std::as_writable_bytes(std::span{&x, 1});
}

} // namespace

void carriers::start(std::function<void(const std::string&, carried_frame&&)> take) {
  take_ = std::move(take);
  if (options_.choice == carrier_choice::automatic || options_.choice == carrier_choice::memory) {
    address_ = "troupe-" + std::to_string(random_number()) + "-" + std::to_string(random_number());
    listener_ = listen_on_host(address_);
  }
  loop_->post([self = shared_from_this()] {
    // By edges: without a free descriptor a newcomer keeps waiting and the loop does not spin. The next connection has
    // all waiting ones accepted.
    if (self->listener_)
      self->loop_->watch(self->listener_.get(), EPOLLIN | EPOLLET,
                         [self](uint32_t) { self->accept_all(); });
    self->loop_->before_waiting([self] { self->tend(); });
  });
}

carrier_offer carriers::offer() const {
  const bool by_socket =
    options_.choice == carrier_choice::automatic || options_.choice == carrier_choice::socket;
  return {listener_ ? host_words() : std::string{}, address_, by_socket, random_number()};
}

void carriers::open(const std::string& peer, const carried_link& link) {
  loop_->post([self = shared_from_this(), peer, link] {
    self->close_here(peer);
    auto& x = self->ways_[peer];
    x.link = link;
    x.delay = self->options_.retry_delay;
    x.opened = moment::clock::now();
    self->meet_early(peer, x);
    self->try_again(peer, x, x.opened);
  });
}

void carriers::close(const std::string& peer) {
  loop_->post([self = shared_from_this(), peer] { self->close_here(peer); });
}

void carriers::take(const std::string& peer, uint64_t token, std::shared_ptr<channel> connection) {
  loop_->post([self = shared_from_this(), peer, token, connection = std::move(connection)] {
    const auto found = self->ways_.find(peer);
    if (found == self->ways_.end() || found->second.link.token() != token ||
        !found->second.link.has_socket() ||
        (found->second.stream && self->options_.on_lost)) // pieces given to it would be lost
      return;
    self->drop(found->second);
    self->begin(peer, found->second, std::move(*connection), {}, {});
  });
}

void carriers::close_here(const std::string& peer) {
  if (const auto found = ways_.find(peer); found != ways_.end()) {
    drop(found->second);
    ways_.erase(found);
  }
}

void carriers::drop(way& x) {
  if (x.greeting)
    loop_->forget(x.greeting.get());
  if (x.stream)
    loop_->forget(x.stream->descriptor());
  x.greeting = owned_socket{};
  x.memory = {};
  x.stream.reset();
  x.asked.reset();
  x.waits_for_room = false;
}

// ---- On one host: the side that connects ----

void carriers::connect(const std::string& peer, way& x) {
  owned_socket memory;
  x.memory = slot_memory::make(memory);
  x.greeting = connect_on_host(x.link.theirs.address);
  greeting_words words;
  words.token = x.link.token();
  if (!x.memory || !x.greeting || !is_of_this_user(x.greeting) ||
      !send_with_descriptor(x.greeting, bytes_of(words), memory)) {
    x.greeting = owned_socket{};
    return;
  }
  loop_->watch(x.greeting.get(), EPOLLIN,
               [self = weak_from_this(), peer](uint32_t) { self.lock()->on_greeted(peer); });
}

void carriers::on_greeted(const std::string& peer) {
  const auto found = ways_.find(peer);
  if (found == ways_.end() || !found->second.greeting)
    return;
  auto& x = found->second;
  greeting_words words;
  auto answer = receive_with_descriptor(x.greeting, bytes_of(words));
  if (!answer.is_over && !answer.descriptor)
    return;
  auto theirs = slot_memory::map(answer.descriptor);
  if (answer.is_over || !theirs || words.token != x.link.token())
    return drop(x);
  loop_->forget(x.greeting.get());
  begin(peer, x, channel{std::move(x.greeting)}, std::move(x.memory), std::move(theirs));
}

// ---- On one host: the side that is met ----

void carriers::accept_all() {
  for (auto socket = accept_from(listener_); socket; socket = accept_from(listener_)) {
    if (!is_of_this_user(socket))
      continue;
    std::erase_if(visitors_, [](const auto& x) { // not watched any more, and closed since
      return x.second.memory && has_closed(x.second.socket);
    });
    if (visitors_.size() >= visitors_max) {
      loop_->forget(visitors_.begin()->first);
      visitors_.erase(visitors_.begin());
    }
    const int descriptor = socket.get();
    visitors_[descriptor].socket = std::move(socket);
    loop_->watch(descriptor, EPOLLIN, [self = weak_from_this(), descriptor](uint32_t) {
      self.lock()->on_visitor(descriptor);
    });
  }
}

void carriers::on_visitor(int descriptor) {
  auto& who = visitors_.at(descriptor);
  greeting_words words;
  auto shown = receive_with_descriptor(who.socket, bytes_of(words));
  if (!shown.is_over && !shown.descriptor)
    return;
  loop_->forget(descriptor);
  if (shown.is_over || words.what != greeting_words{}.what) {
    visitors_.erase(descriptor);
    return;
  }
  who.memory = std::move(shown.descriptor);
  who.token = words.token;
  for (auto& [peer, x] : ways_)
    meet_early(peer, x);
}

void carriers::meet_early(const std::string& peer, way& x) {
  const auto found = std::ranges::find_if(visitors_, [&](const auto& entry) {
    return entry.second.memory && entry.second.token == x.link.token();
  });
  if (!x.link.was_dialled || !x.link.shares_memory() || found == visitors_.end())
    return;
  auto who = std::move(found->second);
  visitors_.erase(found);
  meet(peer, x, std::move(who));
}

void carriers::meet(const std::string& peer, way& x, visitor&& who) {
  if (has_closed(who.socket))
    return; // the peer has given this attempt up, and may have come again already
  greeting_words words;
  words.token = who.token;
  owned_socket memory;
  auto mine = slot_memory::make(memory);
  auto theirs = slot_memory::map(who.memory);
  if (!mine || !theirs || !send_with_descriptor(who.socket, bytes_of(words), memory))
    return; // the peer may come again
  drop(x);
  begin(peer, x, channel{std::move(who.socket)}, std::move(mine), std::move(theirs));
}

// ---- Any carrier ----

void carriers::begin(const std::string& peer, way& x, channel connection, slot_memory mine,
                     slot_memory theirs) {
  auto slots = mine ? std::make_shared<shared_slots>(std::move(mine), std::move(theirs)) : nullptr;
  x.stream = std::make_unique<piece_stream>(std::move(connection), std::move(slots));
  loop_->watch(x.stream->descriptor(), EPOLLIN, [self = weak_from_this(), peer](uint32_t events) {
    self.lock()->on_ready(peer, events);
  });
  on_ready(peer, EPOLLIN); // a secured connection may have read some already
}

void carriers::on_ready(const std::string& peer, uint32_t events) {
  const auto found = ways_.find(peer);
  if (found == ways_.end() || !found->second.stream ||
      (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0)
    return;
  auto& x = found->second;
  const bool goes_on = x.stream->receive([&](carried_frame&& frame) {
    x.asked.reset();
    x.delay = options_.retry_delay;
    take_(peer, std::move(frame));
  });
  if (!goes_on)
    lose(peer, x);
}

void carriers::lose(const std::string& peer, way& x) {
  drop(x);
  if (options_.on_lost)
    options_.on_lost(peer);
}

std::function<void(const std::string&, carried_frame&&)> frames_to(const node_actor& node) {
  return [node](const std::string& peer, carried_frame&& frame) {
    if (frame.is_piece())
      caf::anon_send(node, sent_piece{{{peer}, std::move(frame.piece)}});
    else if (frame.kind == frame_kind::stamp)
      caf::anon_send(node, sent_stamp{{{peer}, frame.piece.stamp}});
    else
      caf::anon_send(node, sent_credit{{{peer}, frame.piece.stamp}});
  };
}

carrier_choice carriers::way_to(const std::string& process) const {
  const auto found = ways_.find(process);
  if (found == ways_.end() || !found->second.stream)
    return carrier_choice::messages;
  return found->second.stream->has_slots() ? carrier_choice::memory : carrier_choice::socket;
}

// With shared slots each piece leaves at once, so that the other side can take it in meanwhile.
bool carriers::carry(const std::string& process, const tensor_piece& piece) {
  const auto found = ways_.find(process);
  if (found == ways_.end() || !found->second.stream || !found->second.stream->put(piece))
    return false;
  if (found->second.stream->has_slots())
    found->second.stream->flush(); // `tend` finds out if the stream is over
  return true;
}

// Where a carrier is silent the question goes as a message. Then the exchange finds out what has come, and sends the
// rest as messages.
bool carriers::carry(const std::string& process, position_word word, const link_position& what) {
  const auto found = ways_.find(process);
  if (found == ways_.end() || !found->second.stream)
    return false;
  auto& x = found->second;
  const auto now = moment::clock::now();
  if (word == position_word::stamp) {
    if (x.asked && now - *x.asked >= options_.silence_max) {
      lose(process, x);
      x.tried = now;
      x.delay = std::min(2 * x.delay, options_.retry_delay_max);
    } else {
      x.asked = x.asked.value_or(now);
    }
  }
  if (x.stream)
    x.stream->put(word, what);
  return x.stream != nullptr;
}

void carriers::tend() {
  const auto now = moment::clock::now();
  for (auto& [peer, x] : ways_) {
    if (x.stream && !x.stream->flush())
      lose(peer, x);
    if (x.stream && x.stream->is_waiting() != x.waits_for_room) {
      x.waits_for_room = x.stream->is_waiting();
      loop_->change(x.stream->descriptor(), x.waits_for_room ? EPOLLIN | EPOLLOUT : EPOLLIN);
    }
    try_again(peer, x, now);
  }
}

void carriers::try_again(const std::string& peer, way& x, moment now) {
  if (x.stream || now - x.tried < x.delay)
    return;
  x.tried = now;
  drop(x);
  const bool has_waited = !x.link.shares_memory() || now - x.opened >= options_.memory_patience;
  if (!x.link.was_dialled && x.link.shares_memory())
    connect(peer, x);
  else if (x.link.was_dialled && x.link.has_socket() && has_waited)
    options_.dial(peer, x.link.token());
}

namespace {

constexpr int backlog = 64;

struct host_address {
  sockaddr_un where{};
  socklen_t size = 0;
};

/// An address in the abstract namespace: its first character is 0.
host_address address_of(const std::string& name) {
  host_address result;
  result.where.sun_family = AF_UNIX;
  const auto count = std::min(name.size(), sizeof(result.where.sun_path) - 1);
  std::copy_n(name.data(), count, result.where.sun_path + 1);
  result.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + count);
  return result;
}

/// One row of bytes, and room for one descriptor: the system drops further ones.
struct message_with_descriptor {
  explicit message_with_descriptor(std::span<const std::byte> bytes)
    : part{const_cast<std::byte*>(bytes.data()), bytes.size()} {
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = room.data();
    message.msg_controllen = CMSG_LEN(sizeof(int));
  }
  message_with_descriptor(const message_with_descriptor&) = delete;
  message_with_descriptor& operator=(const message_with_descriptor&) = delete;

  iovec part;
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> room{};
  msghdr message{};
};

owned_socket host_socket() {
  return owned_socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
}

} // namespace

std::string host_words() {
  std::ifstream file{"/proc/sys/kernel/random/boot_id"};
  std::string boot;
  struct stat space {};
  if (!std::getline(file, boot) || ::stat("/proc/self/ns/net", &space) != 0)
    return {};
  return boot + " " + std::to_string(space.st_ino) + " " + std::to_string(::getuid());
}

owned_socket listen_on_host(const std::string& address) {
  auto result = host_socket();
  const auto there = address_of(address);
  if (!result ||
      ::bind(result.get(), reinterpret_cast<const sockaddr*>(&there.where), there.size) != 0 ||
      ::listen(result.get(), backlog) != 0)
    return owned_socket{};
  return result;
}

owned_socket connect_on_host(const std::string& address) {
  auto result = host_socket();
  const auto there = address_of(address);
  if (!result ||
      ::connect(result.get(), reinterpret_cast<const sockaddr*>(&there.where), there.size) != 0)
    return owned_socket{};
  return result;
}

bool is_of_this_user(const owned_socket& socket) {
  ucred who{};
  socklen_t size = sizeof(who);
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
         who.uid == ::getuid();
}

bool has_closed(const owned_socket& socket) {
  char ignored = 0;
  return ::recv(socket.get(), &ignored, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

bool send_with_descriptor(const owned_socket& socket, std::span<const std::byte> bytes,
                          const owned_socket& descriptor) {
  message_with_descriptor sent{bytes};
  auto* head = CMSG_FIRSTHDR(&sent.message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  const int number = descriptor.get();
  std::memcpy(CMSG_DATA(head), &number, sizeof(number));
  return ::sendmsg(socket.get(), &sent.message, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

received_descriptor receive_with_descriptor(const owned_socket& socket,
                                            std::span<std::byte> bytes) {
  message_with_descriptor come{bytes};
  const auto got = ::recvmsg(socket.get(), &come.message, MSG_CMSG_CLOEXEC);
  received_descriptor result;
  result.is_over = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR) ||
                   (got > 0 && static_cast<size_t>(got) != bytes.size());
  const auto* head = got > 0 ? CMSG_FIRSTHDR(&come.message) : nullptr;
  if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
      head->cmsg_len == CMSG_LEN(sizeof(int))) {
    int number = -1;
    std::memcpy(&number, CMSG_DATA(head), sizeof(number));
    result.descriptor = owned_socket{number};
  }
  result.is_over = result.is_over || (got > 0 && !result.descriptor);
  return result;
}

} // namespace troupe
