// How fast pieces go from one process to another: what nodes send each other, with stamps,
// checksums and credit, over a loopback connection of the actor framework.
//
//   wire_benchmark [megabytes of a version [versions [elements of a piece [tls]]]]
//
// A child process receives: it checks each piece and copies it to its place in a buffer, as a node
// does. The parent sends each version as a node sends the parameters of a span; with `tls` over a
// secured connection, as the gate hands it over. Beside it, in the
// same run: bytes through a bare loopback socket, and copies in memory. docs/benchmarks.md.

#include "actors/net/links/handover.hpp"
#include "actors/net/process/networked_process.hpp"
#include "actors/protocol/tensor_messages.hpp"
#include "coordinators/exchange/link_ends.hpp"
#include "tests/support/certificates.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/scribe.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace troupe;
using clock_type = std::chrono::steady_clock;

namespace {

struct sink_state {
  caf::actor sender;
  incoming_link link;
  buffer values;
  uint64_t element_count = 0;
  uint64_t here = 0;
};

using sink_actor = caf::stateful_actor<sink_state, caf::event_based_actor>;

void take(sink_actor* self, const tensor_piece& news) {
  auto& state = self->state;
  state.link.on_stamp(news.stamp);
  if (state.link.due(link_credit_bytes))
    self->send(state.sender, sent_credit{{{}, state.link.tell()}});
  if (!news.values.intact())
    std::abort();
  std::ranges::copy(news.values.values(), state.values.values().begin() +
                                            static_cast<std::ptrdiff_t>(news.first_element));
  state.here += news.values.values().size();
  if (state.here == state.element_count) {
    state.here = 0;
    self->send(state.sender, caf::ok_atom_v);
  }
}

caf::behavior sink(sink_actor* self, uint64_t element_count) {
  self->state.element_count = element_count;
  self->state.values = buffer{element_count};
  return {
    [=](const sent_piece& news) { take(self, news.what); },
    [=](const caf::actor& sender) {
      self->state.sender = sender;
      self->send(sender, caf::ok_atom_v);
    },
  };
}

void wait_for(int descriptor, short events) {
  pollfd ready{descriptor, events, 0};
  if (::poll(&ready, 1, 10'000) <= 0)
    std::abort();
}

/// The connection, once hands are shaken if they are to be.
channel secured(channel line, const tls_context& context, tls_side side) {
  if (!context)
    return line;
  line.secure(context, side);
  for (;;)
    switch (line.session()->shake_hands()) {
    case tls_session::progress::done:
      return line;
    case tls_session::progress::failed:
      std::abort();
    case tls_session::progress::wants_to_read:
      wait_for(line.descriptor(), POLLIN);
      break;
    case tls_session::progress::wants_to_write:
      wait_for(line.descriptor(), POLLOUT);
    }
}

[[noreturn]] void receive_in_child(const owned_socket& listener, int end_pipe,
                                   uint64_t element_count, const tls_context& context) {
  caf::actor_system_config config;
  configure_node(config, {});
  caf::actor_system system{config};
  const auto receiver = system.spawn<caf::detached>(sink, element_count);
  wait_for(listener.get(), POLLIN);
  auto line = secured(channel{accept_from(listener)}, context, tls_side::accepts);
  caf::anon_send(protocol_broker(system), caf::publish_atom_v, make_scribe(system, std::move(line)),
                 shown_actor_number, caf::actor_cast<caf::strong_actor_ptr>(receiver),
                 std::set<std::string>{});
  char end = 0;
  while (::read(end_pipe, &end, 1) > 0) {
  }
  // All is measured: the actor system's own end waits for whoever still knows the receiver. And the
  // folder of the authority is the parent's.
  ::_exit(0);
}

double seconds_since(clock_type::time_point begin) {
  return std::chrono::duration<double>(clock_type::now() - begin).count();
}

caf::actor connect_to(caf::actor_system& system, const socket_address& where,
                      const tls_context& context) {
  std::string problem;
  channel line{begin_connect(where, problem)};
  wait_for(line.descriptor(), POLLOUT);
  line = secured(std::move(line), context, tls_side::dials);
  caf::scoped_actor self{system};
  caf::actor result;
  self
    ->request(protocol_broker(system), std::chrono::seconds{10}, caf::connect_atom_v,
              make_scribe(system, std::move(line)), shown_actor_number)
    .receive([&](const caf::node_id&, const caf::strong_actor_ptr& shown,
                 const std::set<std::string>&) { result = caf::actor_cast<caf::actor>(shown); },
             [](const caf::error&) { std::abort(); });
  return result;
}

/// Seconds for each version, from the first piece until the receiver has all of it.
std::vector<double> send_versions(const socket_address& where, const tls_context& context,
                                  uint64_t element_count, size_t version_count,
                                  size_t piece_elements) {
  caf::actor_system_config config;
  configure_node(config, {});
  caf::actor_system system{config};
  caf::scoped_actor self{system};
  const auto receiver = connect_to(system, where, context);
  self->send(receiver, caf::actor_cast<caf::actor>(self));
  self->receive([](caf::ok_atom) {});
  const buffer values{element_count};
  for (size_t i = 0; i < values.size(); ++i)
    values.values()[i] = static_cast<float>(i);
  outgoing_link link{1, link_credit_bytes, piece_elements};
  std::vector<double> result;
  for (uint64_t version = 0; version < version_count; ++version) {
    const auto begin = clock_type::now();
    link.add({tensor_kind::parameters, 1, version}, {0, element_count}, urgency::training);
    for (bool done = false; !done;) {
      while (const auto piece = link.next(begin))
        self->send(receiver, sent_piece{{{"a"},
                                         {piece->name,
                                          piece->elements.begin,
                                          {values, piece->elements.begin, piece->elements.size()},
                                          {},
                                          {link.link(), piece->position}}}});
      self->receive([&](const sent_credit& news) { link.on_credit(news.what, begin); },
                    [&](caf::ok_atom) { done = true; });
    }
    result.push_back(seconds_since(begin));
  }
  return result;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// GB/s through a socket in pieces of this size, read by a child.
double socket_speed(size_t bytes, size_t piece_bytes) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
    std::abort();
  std::vector<char> piece(piece_bytes, 1);
  const auto begin = clock_type::now();
  const auto child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    while (::read(ends[1], piece.data(), piece.size()) > 0) {
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  for (size_t sent = 0; sent < bytes; sent += piece_bytes)
    if (::write(ends[0], piece.data(), piece.size()) < 0)
      std::abort();
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return static_cast<double>(bytes) / seconds_since(begin) / 1e9;
}

size_t argument(int argc, char** argv, int place, size_t otherwise) {
  return argc > place ? std::strtoull(argv[place], nullptr, 10) : otherwise;
}

} // namespace

int main(int argc, char** argv) {
  const uint64_t element_count = argument(argc, argv, 1, 256) * (1 << 20) / sizeof(float);
  const auto version_count = argument(argc, argv, 2, 9);
  const auto piece_elements = argument(argc, argv, 3, piece_elements_max);
  const auto bytes = static_cast<double>(element_count * sizeof(float));
  std::printf("bare socket: %.2f GB/s\n",
              socket_speed(element_count * sizeof(float), piece_elements * sizeof(float)));
  std::optional<test::some_authority> authority;
  tls_context context;
  if (argc > 4 && std::string{argv[4]} == "tls")
    context = load_tls(authority.emplace().issue("a"), "a");
  const auto listener = listen_on(resolve({"127.0.0.1", 0}, milliseconds{1'000}).addresses.front());
  int ends[2];
  if (::pipe(ends) != 0)
    return 1;
  const auto child = ::fork();
  if (child == 0) {
    ::close(ends[1]);
    receive_in_child(listener, ends[0], element_count, context);
  }
  const auto seconds = send_versions(bound_address_of(listener), context, element_count,
                                     version_count, piece_elements);
  ::close(ends[1]);
  ::waitpid(child, nullptr, 0);
  const auto used = [](int who) {
    rusage x{};
    ::getrusage(who, &x);
    return static_cast<double>(x.ru_utime.tv_sec + x.ru_stime.tv_sec) +
           static_cast<double>(x.ru_utime.tv_usec + x.ru_stime.tv_usec) / 1e6;
  };
  std::printf("pieces: %.2f GB/s (median of %zu versions of %.0f MB)\n",
              bytes / median(seconds) / 1e9, seconds.size(), bytes / 1e6);
  std::printf("processor seconds a GB: sender %.2f, receiver %.2f\n",
              used(RUSAGE_SELF) / (bytes * static_cast<double>(version_count)) * 1e9,
              used(RUSAGE_CHILDREN) / (bytes * static_cast<double>(version_count)) * 1e9);
}
