#include "models/base/buffer.hpp"
#include "models/base/large_pages.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

namespace troupe::buffer_test {

TEST(buffer, is_aligned_and_zero) {
  for (size_t size : {1u, 7u, 16u, 1000u}) {
    const buffer x{size};
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(x.values().data()) % buffer_alignment_bytes, 0u);
    ASSERT_EQ(x.size(), size);
    for (auto value : x.values())
      EXPECT_EQ(value, 0);
  }
}

TEST(buffer, copies_share_one_storage) {
  const buffer x{3};
  const const_buffer reader = x;
  x.values()[1] = 5;
  EXPECT_EQ(reader.values()[1], 5);
  EXPECT_TRUE(reader.same_storage(x));
  EXPECT_FALSE(reader.same_storage(buffer{3}));
}

TEST(buffer, an_empty_handle_has_no_values) {
  const buffer none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none.values().size(), 0u);
}

TEST(buffer_pool, takes_back_a_storage_when_the_last_handle_goes) {
  buffer_pool pool{8};
  const float* address = nullptr;
  {
    auto first = pool.acquire();
    address = first.values().data();
    const const_buffer reader = first;
    first = buffer{};
    EXPECT_NE(pool.acquire().values().data(), address) << "a reader still holds it";
  }
  EXPECT_EQ(pool.made_count(), 2u);
  auto a = pool.acquire();
  auto b = pool.acquire();
  EXPECT_TRUE(a.values().data() == address || b.values().data() == address);
  EXPECT_EQ(pool.made_count(), 2u) << "both storages were used again";
}

TEST(buffer_pool, may_go_before_its_buffers) {
  buffer survivor;
  {
    buffer_pool pool{4};
    survivor = pool.acquire();
    pool.acquire();
  }
  survivor.values()[0] = 1;
  EXPECT_EQ(survivor.values()[0], 1);
}

TEST(buffer_pool, serves_threads_that_hand_buffers_to_each_other) {
  buffer_pool pool{64};
  const auto work = [&] {
    for (int i = 0; i < 2000; ++i) {
      auto x = pool.acquire();
      x.values()[0] = static_cast<float>(i);
      const const_buffer reader = x;
      x = buffer{};
      ASSERT_EQ(reader.values()[0], static_cast<float>(i));
    }
  };
  std::thread other{work};
  work();
  other.join();
  EXPECT_LE(pool.made_count(), 4u);
}

TEST(large_pages, room_is_made_once_and_what_was_there_stays) {
  std::vector<float> values{1, 2, 3};
  reserve_large(values, 10'000'000);
  EXPECT_GE(values.capacity(), 10'000'000u);
  EXPECT_EQ(values, (std::vector<float>{1, 2, 3}));
  const auto* before = values.data();
  reserve_large(values, 100);
  values.resize(10'000'000, 7.0f);
  EXPECT_EQ(values.data(), before);
  EXPECT_EQ(values[2], 3.0f);
  EXPECT_EQ(values.back(), 7.0f);
}

TEST(large_pages, advice_leaves_memory_as_it_is) {
  std::vector<char> bytes(size_t{5} << 20, 'x');
  advise_large_pages(bytes.data() + 1, bytes.size() - 1);
  advise_large_pages(bytes.data(), 10); // no whole page: nothing happens
  advise_large_pages(nullptr, 0);
  EXPECT_EQ(bytes, std::vector<char>(size_t{5} << 20, 'x'));
}

} // namespace troupe::buffer_test
