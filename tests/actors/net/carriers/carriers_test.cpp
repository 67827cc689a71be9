// Carriers of two processes, in one: each with its thread, and a node that writes down what comes.

#include "actors/net/carriers/carriers.hpp"
#include "actors/net/carriers/piece_stream.hpp"
#include "actors/protocol/tensor_messages.hpp"
#include "actors/run/configure.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/socket.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <future>
#include <optional>
#include <thread>
#include <vector>

namespace troupe::carriers_test {
namespace {

tensor_piece piece_of(uint64_t key, size_t count) {
  const buffer storage{count};
  for (auto& x : storage.values())
    x = static_cast<float>(key);
  tensor_piece result;
  result.of = {tensor_kind::parameters, 1, key, only_leaf, 0};
  result.values = {storage, 0, count};
  result.stamp = {1, key};
  return result;
}

constexpr milliseconds retry_delay{50};
constexpr milliseconds silence_max{100};
constexpr milliseconds memory_patience{200};

struct system_config : caf::actor_system_config {
  system_config() { configure(*this); }
};

/// A process, as its links and its node see its carriers.
struct side {
  side(caf::actor_system& system, carrier_choice choice)
    : inbox(system),
      loop(std::make_shared<node_loop>(system)),
      ways(std::make_shared<carriers>(loop, options_of(choice))) {
    loop->start();
    ways->start(frames_to(caf::actor_cast<node_actor>(caf::actor_cast<caf::actor>(inbox))));
  }
  ~side() { loop->stop(); }

  carrier_options options_of(carrier_choice choice) {
    carrier_options result;
    result.choice = choice;
    result.dial = [this](const std::string&, uint64_t token) {
      dialled.fetch_add(1);
      token_dialled = token;
    };
    result.retry_delay = retry_delay;
    result.silence_max = silence_max;
    result.memory_patience = memory_patience;
    return result;
  }

  /// Calls this in a turn.
  template <class Function>
  auto there(const Function& call) {
    std::promise<decltype(call())> result;
    loop->post([&] { result.set_value(call()); });
    return result.get_future().get();
  }
  carrier_choice way_to(const std::string& peer) {
    return there([&] { return ways->way_to(peer); });
  }
  bool comes_to(const std::string& peer, carrier_choice way) {
    for (int i = 0; i < 1'000 && way_to(peer) != way; ++i)
      std::this_thread::sleep_for(milliseconds{5});
    return way_to(peer) == way;
  }
  template <class T>
  T next() {
    T result;
    inbox->receive([&](const T& news) { result = news; },
                   caf::after(std::chrono::seconds{10}) >> [] { FAIL() << "nothing comes"; });
    return result;
  }

  caf::scoped_actor inbox;
  std::atomic<int> dialled{0};
  std::atomic<uint64_t> token_dialled{0};
  std::shared_ptr<node_loop> loop;
  std::shared_ptr<carriers> ways;
};

class two_sides : public testing::Test {
protected:
  void make(carrier_choice of_a, carrier_choice of_b) {
    a.emplace(system, of_a);
    b.emplace(system, of_b);
    from_a = {a->ways->offer(), b->ways->offer(), true};
    from_b = {from_a.theirs, from_a.mine, false};
  }
  void link() {
    a->ways->open("b", from_a);
    b->ways->open("a", from_b);
  }
  void expect_carried() {
    for (const size_t count : {size_t{3}, piece_elements_max}) {
      const auto piece = piece_of(count, count);
      ASSERT_TRUE(a->there([&] { return a->ways->carry("b", piece); }));
      const auto came = b->next<sent_piece>();
      EXPECT_EQ(came.by, (speaker{"a", false}));
      EXPECT_EQ(came.what, piece);
      EXPECT_TRUE(came.what.values.intact());
    }
    ASSERT_TRUE(b->there([&] { return b->ways->carry("a", position_word::credit, {1, 7}); }));
    EXPECT_EQ(a->next<sent_credit>().what, (link_position{1, 7}));
    ASSERT_TRUE(b->there([&] { return b->ways->carry("a", position_word::stamp, {2, 8}); }));
    const auto stamp = a->next<sent_stamp>();
    EXPECT_EQ(stamp.what, (link_position{2, 8}));
    EXPECT_EQ(stamp.by, (speaker{"b", false}));
  }
  /// Connections as the gate would have opened them.
  void bring_sockets(uint64_t token) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    a->ways->take("b", token, std::make_shared<channel>(owned_socket{ends[0]}));
    b->ways->take("a", token, std::make_shared<channel>(owned_socket{ends[1]}));
  }

  system_config config;
  caf::actor_system system{config};
  std::optional<side> a, b;
  carried_link from_a, from_b;
};

TEST_F(two_sides, on_one_host_share_memory) {
  make(carrier_choice::automatic, carrier_choice::automatic);
  EXPECT_FALSE(a->there([&] { return a->ways->carry("b", piece_of(1, 1)); }));
  link();
  ASSERT_TRUE(a->comes_to("b", carrier_choice::memory));
  ASSERT_TRUE(b->comes_to("a", carrier_choice::memory));
  expect_carried();
}

// The side that connects hears of the link first, or last.
TEST_F(two_sides, meet_whoever_hears_of_the_link_first) {
  for (const bool connects_first : {false, true}) {
    make(carrier_choice::memory, carrier_choice::automatic);
    if (connects_first)
      b->ways->open("a", from_b);
    else
      a->ways->open("b", from_a);
    std::this_thread::sleep_for(milliseconds{20});
    link();
    ASSERT_TRUE(b->comes_to("a", carrier_choice::memory));
    ASSERT_TRUE(a->comes_to("b", carrier_choice::memory));
    expect_carried();
  }
}

TEST_F(two_sides, of_which_one_wants_messages_have_no_other_way) {
  for (const auto of_a : {carrier_choice::messages, carrier_choice::socket}) {
    make(of_a,
         of_a == carrier_choice::messages ? carrier_choice::automatic : carrier_choice::memory);
    EXPECT_FALSE(from_a.shares_memory());
    EXPECT_FALSE(from_a.has_socket());
    link();
    bring_sockets(from_a.token());
    EXPECT_EQ(a->way_to("b"), carrier_choice::messages);
    EXPECT_EQ(b->way_to("a"), carrier_choice::messages);
    EXPECT_FALSE(a->there([&] { return a->ways->carry("b", position_word::stamp, {1, 1}); }));
    EXPECT_EQ(a->dialled + b->dialled, 0);
  }
}

// Whoever should connect on the host does not, or cannot.
TEST_F(two_sides, try_a_socket_when_memory_does_not_come_about) {
  make(carrier_choice::automatic, carrier_choice::automatic);
  const auto begin = moment::clock::now();
  a->ways->open("b", from_a);
  a->way_to("b");
  while (a->dialled == 0 && moment::clock::now() - begin < std::chrono::seconds{10})
    a->way_to("b"); // a loop looks whenever it is woken
  EXPECT_GE(moment::clock::now() - begin, memory_patience);
  EXPECT_EQ(a->token_dialled, from_a.token());
}

// Another process with two descriptors in its hand: none of them is kept.
TEST(host_socket, takes_one_descriptor_and_no_more) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
  const owned_socket from{ends[0]}, to{ends[1]};
  std::array<std::byte, 4> bytes{};
  iovec part{bytes.data(), bytes.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(2 * sizeof(int))> room{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room.data();
  message.msg_controllen = room.size();
  auto* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(2 * sizeof(int));
  const std::array<int, 2> both{from.get(), from.get()};
  std::memcpy(CMSG_DATA(head), both.data(), sizeof(both));
  const auto next_free = [&] { return owned_socket{::dup(from.get())}.get(); };
  const int before = next_free();
  ASSERT_EQ(::sendmsg(from.get(), &message, 0), 4);
  receive_with_descriptor(to, bytes);
  EXPECT_EQ(next_free(), before) << "a descriptor was left open";
}

TEST_F(two_sides, use_a_socket_that_the_gate_brings_to_their_link) {
  make(carrier_choice::socket, carrier_choice::automatic);
  link();
  a->way_to("b");
  EXPECT_GE(a->dialled, 1);
  EXPECT_EQ(a->token_dialled, from_a.token());
  EXPECT_EQ(b->dialled, 0);
  bring_sockets(from_a.token() + 1); // of another link
  EXPECT_EQ(a->way_to("b"), carrier_choice::messages);
  bring_sockets(from_a.token());
  EXPECT_EQ(a->way_to("b"), carrier_choice::socket);
  expect_carried();
}

TEST_F(two_sides, go_back_to_messages_when_the_link_or_the_other_is_gone) {
  make(carrier_choice::socket, carrier_choice::socket);
  link();
  bring_sockets(from_a.token());
  ASSERT_TRUE(b->comes_to("a", carrier_choice::socket));
  a->ways->close("b");
  EXPECT_EQ(a->way_to("b"), carrier_choice::messages);
  EXPECT_TRUE(b->comes_to("a", carrier_choice::messages));
  EXPECT_FALSE(b->there([&] { return b->ways->carry("a", piece_of(1, 1)); }));
}

// Its link lives: the side that connects tries again.
TEST_F(two_sides, make_memory_anew_that_was_lost) {
  make(carrier_choice::automatic, carrier_choice::automatic);
  link();
  ASSERT_TRUE(b->comes_to("a", carrier_choice::memory));
  ASSERT_TRUE(a->comes_to("b", carrier_choice::memory));
  a->ways->open("b", from_a); // it begins with nothing
  const auto until = moment::clock::now() + 200 * retry_delay;
  while (a->way_to("b") != carrier_choice::memory && moment::clock::now() < until)
    b->way_to("a"); // a loop looks whenever it is woken
  ASSERT_EQ(a->way_to("b"), carrier_choice::memory);
  ASSERT_TRUE(b->comes_to("a", carrier_choice::memory));
  expect_carried();
}

// A way that takes everything and brings nothing is none: a question without an answer ends it.
TEST_F(two_sides, give_up_a_way_that_is_silent) {
  make(carrier_choice::socket, carrier_choice::socket);
  link();
  const auto ask = [&] {
    return a->there([&] { return a->ways->carry("b", position_word::stamp, {1, 1}); });
  };
  const auto wait = [] { std::this_thread::sleep_for(silence_max + milliseconds{20}); };
  bring_sockets(from_a.token());
  ASSERT_EQ(a->way_to("b"), carrier_choice::socket);
  wait(); // nobody has asked
  EXPECT_TRUE(ask());
  b->next<sent_stamp>();
  ASSERT_TRUE(b->there([&] { return b->ways->carry("a", position_word::credit, {1, 1}); }));
  a->next<sent_credit>();
  wait();
  EXPECT_TRUE(ask());
  wait();
  EXPECT_FALSE(ask());
  EXPECT_EQ(a->way_to("b"), carrier_choice::messages);
  EXPECT_FALSE(ask());
}

// Whoever is on this host and of this user may come, and is not listened to without the token.
TEST_F(two_sides, do_not_listen_to_strangers) {
  make(carrier_choice::memory, carrier_choice::memory);
  a->ways->open("b", from_a);
  const auto stranger = connect_on_host(from_a.mine.address);
  ASSERT_TRUE(stranger);
  std::array<std::byte, 16> words{};
  owned_socket memory;
  const auto mine = slot_memory::make(memory);
  ASSERT_TRUE(send_with_descriptor(stranger, words, memory));
  const auto other = connect_on_host(from_a.mine.address);
  ASSERT_EQ(::send(other.get(), "GET / HTTP/1.0\r\n", 16, 0), 16);
  std::array<char, 1> answer{};
  for (const auto* one : {&stranger, &other}) {
    for (int i = 0; i < 1'000 && ::recv(one->get(), answer.data(), 1, MSG_DONTWAIT) != 0; ++i)
      std::this_thread::sleep_for(milliseconds{5});
    EXPECT_EQ(::recv(one->get(), answer.data(), 1, MSG_DONTWAIT), 0);
  }
  EXPECT_EQ(a->way_to("b"), carrier_choice::messages);
  b->ways->open("a", from_b);
  EXPECT_TRUE(a->comes_to("b", carrier_choice::memory));
}

/// Both sides, in one process: each maps the other's memory as another process would.
struct both_sides {
  shared_slots here;
  shared_slots there;
};

both_sides make_both() {
  owned_socket a, b;
  auto mine = slot_memory::make(a);
  auto theirs = slot_memory::make(b);
  EXPECT_TRUE(mine && theirs);
  auto mine_there = slot_memory::map(a);
  auto theirs_here = slot_memory::map(b);
  EXPECT_TRUE(mine_there && theirs_here);
  return {{std::move(mine), std::move(theirs_here)}, {std::move(theirs), std::move(mine_there)}};
}

std::vector<float> values_of(size_t count, float first) {
  std::vector<float> result(count);
  for (auto& x : result)
    x = first++;
  return result;
}

TEST(shared_slots, shows_the_other_side_what_was_put) {
  auto both = make_both();
  for (const size_t count : {size_t{1}, piece_elements_max}) {
    const auto values = values_of(count, 3);
    const auto place = both.here.put(values);
    ASSERT_TRUE(place);
    EXPECT_TRUE(std::ranges::equal(both.there.look(*place, count), values));
  }
  EXPECT_FALSE(both.here.put(values_of(piece_elements_max + 1, 0)));
}

TEST(shared_slots, uses_a_slot_again_once_the_other_side_is_done) {
  auto both = make_both();
  std::vector<slot_place> places;
  for (size_t k = 0; k < slot_count; ++k) {
    const auto place = both.here.put(values_of(2, static_cast<float>(k)));
    ASSERT_TRUE(place);
    places.push_back(*place);
  }
  EXPECT_FALSE(both.here.put(values_of(2, 0))); // all are under way
  EXPECT_EQ(both.there.look(places[5], 2)[0], 5);
  both.there.done(places[5]);
  const auto again = both.here.put(values_of(2, 500));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->slot, places[5].slot);
  EXPECT_FALSE(*again == places[5]);
  EXPECT_FALSE(both.here.put(values_of(2, 0)));
  EXPECT_EQ(both.there.look(*again, 2)[0], 500);
}

TEST(shared_slots, what_no_side_said_is_nowhere) {
  auto both = make_both();
  EXPECT_TRUE(both.here.look({slot_count, 1}, 1).empty());
  EXPECT_TRUE(both.here.look({0, 1}, piece_elements_max + 1).empty());
  both.here.done({slot_count, 1});
  shared_slots none;
  EXPECT_FALSE(none.put(values_of(1, 1)));
  EXPECT_TRUE(none.look({0, 1}, 1).empty());
  none.done({0, 1});
}

// A file that its owner may cut would end whoever reads it.
TEST(shared_slots, takes_only_memory_that_cannot_shrink) {
  owned_socket sealed;
  const auto made = slot_memory::make(sealed);
  ASSERT_TRUE(made);
  EXPECT_NE(::ftruncate(sealed.get(), 0), 0);
  EXPECT_EQ(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, sealed.get(), 0), MAP_FAILED);

  const auto size = ::lseek(sealed.get(), 0, SEEK_END);
  const owned_socket loose{::memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  ASSERT_EQ(::ftruncate(loose.get(), size), 0);
  EXPECT_FALSE(slot_memory::map(loose));
  const owned_socket small{::memfd_create("small", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  EXPECT_FALSE(slot_memory::map(small));
  EXPECT_FALSE(slot_memory::map(owned_socket{}));
}

} // namespace
} // namespace troupe::carriers_test
