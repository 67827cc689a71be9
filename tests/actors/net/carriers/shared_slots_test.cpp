#include "actors/net/carriers/shared_slots.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace troupe::shared_slots_test {

namespace {

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

} // namespace troupe::shared_slots_test
