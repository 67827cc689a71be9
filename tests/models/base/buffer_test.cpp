#include "models/base/buffer.hpp"
#include "models/base/element_window.hpp"
#include "models/base/saved_state.hpp"
#include "models/base/tensor.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/failure_of.hpp"

#include <gtest/gtest.h>

#include <xtensor/xadapt.hpp>
#include <xtensor/xbroadcast.hpp>
#include <xtensor/xview.hpp>

#include <xtensor-blas/xlinalg.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

namespace troupe::buffer_test {
namespace {

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

buffer counting(size_t size) {
  const buffer result{size};
  std::iota(result.values().begin(), result.values().end(), 0.0f);
  return result;
}

uint64_t count_of(std::span<const float> values) {
  return values.size();
}

TEST(float_view, is_a_span_that_keeps_its_buffer) {
  float_view view;
  EXPECT_EQ(view.size(), 0u);
  {
    const auto storage = counting(10);
    view = {storage, 2, 5};
    EXPECT_TRUE(view.storage().same_storage(storage));
  }
  EXPECT_EQ(view.offset(), 2u);
  ASSERT_EQ(view.values().size(), 5u);
  EXPECT_EQ(view.values()[4], 6);
  EXPECT_EQ(view.part(1, 2).values()[0], 3);
  EXPECT_EQ(view.part(1, 2).size(), 2u);
}

TEST(float_view, must_lie_within_its_buffer) {
  const auto storage = counting(4);
  EXPECT_NO_THROW((float_view{storage, 4, 0}));
  EXPECT_THROW((float_view{storage, 0, 5}), std::invalid_argument);
  EXPECT_THROW((float_view{storage, 5, 0}), std::invalid_argument);
  EXPECT_THROW((float_view{storage, 3, SIZE_MAX}), std::invalid_argument);
}

TEST(float_view, is_intact_when_its_checksum_is_the_one_it_was_sent_with) {
  const auto storage = counting(4);
  EXPECT_TRUE((float_view{storage, 0, 4}.intact())) << "it never left the process";
  EXPECT_FALSE((float_view{storage, 0, 4}.received_checksum()));
  const float_view good{storage, 3, 3, count_of};
  EXPECT_TRUE(good.intact());
  EXPECT_EQ(good.received_checksum(), 3u);
  EXPECT_EQ(good.size(), 3u) << "the first of the buffer";
  EXPECT_FALSE((float_view{storage, 3, 4, count_of}.intact()));
}

TEST(float_view, is_compared_bit_by_bit) {
  const auto storage = counting(4);
  EXPECT_EQ((float_view{storage, 1, 2}), (float_view{counting(3), 1, 2}));
  EXPECT_NE((float_view{storage, 1, 2}), (float_view{storage, 2, 2}));
  EXPECT_NE((float_view{storage, 1, 2}), (float_view{storage, 1, 3}));
  storage.values()[0] = -0.0f;
  EXPECT_NE((float_view{storage, 0, 1}), (float_view{counting(1), 0, 1}));
  storage.values()[0] = std::nanf("");
  EXPECT_EQ((float_view{storage, 0, 1}), (float_view{storage, 0, 1}));
}

TEST(element_window, elements_lie_packed_in_their_order) {
  const element_window x{{{30, 40}, {10, 15}, {50, 50}}};
  EXPECT_EQ(x.runs(), (std::vector<element_window::run>{{{10, 15}, 0}, {{30, 40}, 5}}));
  EXPECT_EQ(x.size(), 15u);
  EXPECT_EQ(x.place_of({10, 15}), 0u);
  EXPECT_EQ(x.place_of({12, 13}), 2u);
  EXPECT_EQ(x.place_of({30, 40}), 5u);
  EXPECT_EQ(x.place_of({39, 40}), 14u);
}

TEST(element_window, what_touches_or_overlaps_is_one_run) {
  const element_window x{{{0, 4}, {2, 3}, {4, 6}, {5, 9}, {10, 11}}};
  EXPECT_EQ(x.runs(), (std::vector<element_window::run>{{{0, 9}, 0}, {{10, 11}, 9}}));
}

TEST(element_window, what_is_not_there_is_refused) {
  const element_window x{{{10, 15}, {30, 40}}};
  for (const index_range missing :
       {index_range{0, 1}, {9, 11}, {14, 16}, {15, 30}, {12, 35}, {39, 41}}) {
    EXPECT_FALSE(x.contains(missing));
    EXPECT_THROW(static_cast<void>(x.place_of(missing)), std::out_of_range);
  }
  EXPECT_TRUE(x.contains({31, 31}));
  EXPECT_THROW(static_cast<void>(element_window{}.place_of({0, 1})), std::out_of_range);
}

TEST(element_window, parts_of_a_range_that_are_there) {
  const element_window x{{{10, 15}, {30, 40}}};
  EXPECT_EQ(x.shared_with({0, 100}), (std::vector<index_range>{{10, 15}, {30, 40}}));
  EXPECT_EQ(x.shared_with({14, 31}), (std::vector<index_range>{{14, 15}, {30, 31}}));
  EXPECT_TRUE(x.shared_with({15, 30}).empty());
}

TEST(element_window, values_of_all_elements_or_of_those_in_a_window) {
  std::vector<float> all(50);
  std::iota(all.begin(), all.end(), 0.0f);
  EXPECT_EQ(windowed_values{all}.at({7, 9})[1], 8);
  const element_window x{{{10, 15}, {30, 40}}};
  std::vector<float> some;
  for (const auto& one : x.runs())
    for (auto i = one.elements.begin; i < one.elements.end; ++i)
      some.push_back(static_cast<float>(i));
  EXPECT_EQ((windowed_values{some, &x}.at({31, 34})[2]), 33);
}

/// Whole numbers, so that sums are exact in any order.
float_matrix counted(size_t rows, size_t columns, float first) {
  float_matrix result = float_matrix::from_shape({rows, columns});
  for (size_t i = 0; i < result.size(); ++i)
    result.flat(i) = first + static_cast<float>(i % 7);
  return result;
}

/// By its definition.
template <class A, class B>
float_matrix expected(const A& a, const B& b) {
  float_matrix result = xt::zeros<float>({a.shape(0), b.shape(1)});
  for (size_t i = 0; i < a.shape(0); ++i)
    for (size_t j = 0; j < b.shape(1); ++j)
      for (size_t k = 0; k < a.shape(1); ++k)
        result(i, j) += a(i, k) * b(k, j);
  return result;
}

template <class A, class B>
void expect_product(const A& a, const B& b) {
  EXPECT_EQ(matrix_product(a, b), expected(a, b));
}

TEST(matrix_product, is_that_of_tensors_views_and_expressions) {
  const auto a = counted(5, 9, -3), b = counted(9, 4, 1);
  expect_product(a, b);
  expect_product(xt::transpose(b), xt::transpose(a));
  expect_product(xt::view(a, xt::range(1, 4), xt::range(2, 8)),
                 xt::view(b, xt::range(3, 9), xt::all()));
  expect_product(xt::view(a, xt::range(0, 5, 2), xt::all()), b);
  expect_product(xt::view(a, xt::all(), xt::range(0, 9, 2)),
                 xt::view(b, xt::range(0, 9, 2), xt::all()));
  expect_product(xt::view(a, xt::range(4, xt::placeholders::_, -1), xt::all()), b);
  expect_product(a + 2.0f, 3.0f * b);
  expect_product(xt::broadcast(xt::view(a, 0), {3, 9}), b);
  const xt::xtensor<float, 2, xt::layout_type::column_major> by_columns = b;
  expect_product(a, by_columns);
  const xt::xarray<float> of_any_dimension = b;
  expect_product(a, of_any_dimension);
}

TEST(matrix_product, knows_that_strides_of_one_row_or_column_do_not_count) {
  for (const size_t m : {1u, 3u})
    for (const size_t k : {1u, 4u})
      for (const size_t n : {1u, 2u}) {
        const auto a = counted(m, k, 1), b = counted(k, n, -2);
        expect_product(a, b);
        expect_product(xt::transpose(b), xt::transpose(a));
        expect_product(xt::view(counted(m + 1, k, 1), xt::range(1, m + 1), xt::all()), b);
      }
}

TEST(matrix_product, has_the_bits_of_the_law) {
  const size_t k = 300;
  float_matrix a = float_matrix::from_shape({1, k}), b = float_matrix::from_shape({k, 1});
  for (size_t i = 0; i < k; ++i) {
    a(0, i) = 1.0f / static_cast<float>(i + 3);
    b(i, 0) = std::sqrt(static_cast<float>(i + 1));
  }
  float first = 0, second = 0;
  for (size_t i = 0; i < k; ++i) {
    auto& chain = i < 256 ? first : second;
    chain = std::fma(a(0, i), b(i, 0), chain);
  }
  EXPECT_EQ(matrix_product(a, b)(0, 0), first + second);
  // xtensor-blas takes the same views; its bits are its own.
  EXPECT_NEAR(xt::linalg::dot(a, b)(0, 0), first + second, 1e-4);
}

TEST(matrix_product, multiplies_parameters_where_they_lie) {
  parameter_layout layout;
  layout.add("w", {2, 3});
  layout.add("v", {2, 3});
  const std::vector<float> values{9, 9, 9, 9, 9, 9, 1, 2, 3, 4, 5, 6};
  const auto v = tensor_view(layout, std::span<const float>{values}, "v");
  EXPECT_EQ(matrix_product(v, xt::transpose(v)), (float_matrix{{14, 32}, {32, 77}}));
  EXPECT_EQ(xt::linalg::dot(v, xt::transpose(v)), (float_matrix{{14, 32}, {32, 77}}));
}

TEST(matrix_product, names_shapes_that_do_not_fit) {
  const auto a = counted(2, 3, 1);
  EXPECT_TRUE(
    test::contains(test::complaint_of([&] { matrix_product(a, a); }), "2 x 3 times 2 x 3"));
  const xt::xarray<float> line{1.0f, 2.0f};
  EXPECT_THROW(matrix_product(line, a), std::invalid_argument);
}

TEST(saved_state, doubles_come_back_with_their_bits_whatever_their_words_look_like) {
  const std::array values{0.1,
                          -0.0,
                          std::numeric_limits<double>::infinity(),
                          std::numeric_limits<double>::denorm_min(),
                          std::bit_cast<double>(uint64_t{0x7ff0'0001'7f80'0001}),  // words that are
                          std::bit_cast<double>(uint64_t{0x3ff0'0000'ffbf'ffff})}; // signalling NaN
  state_saver saver{values.size()};
  saver.copy(values);
  const auto saved = saver.take();
  EXPECT_EQ(saved.shape(), (state_shape{vectors_of_doubles, 0}));
  const auto back = state_loader{saved}.doubles();
  ASSERT_EQ(back.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(std::bit_cast<uint64_t>(back[i]), std::bit_cast<uint64_t>(values[i])) << i;
}

TEST(saved_state, is_read_in_the_order_it_was_written) {
  state_saver saver{2};
  const buffer shared{2};
  saver.share(shared);
  saver.count(7);
  saver.copy(std::array{1.0f, 2.0f});
  saver.number(0.5);
  saver.copy(std::span<const float>{}); // nothing there yet
  const auto saved = saver.take();
  state_loader loader{saved};
  EXPECT_TRUE(loader.vector().same_storage(shared));
  EXPECT_EQ(loader.count(), 7u);
  EXPECT_EQ(loader.vector().values()[1], 2.0f);
  EXPECT_EQ(loader.number(), 0.5);
  EXPECT_EQ(loader.vector().values()[0], 0.0f);
  EXPECT_THROW(loader.vector(), std::invalid_argument);
  EXPECT_THROW(loader.number(), std::invalid_argument);
}

TEST(saved_state, refuses_what_cannot_be) {
  state_saver saver{2};
  EXPECT_THROW(saver.copy(std::array{1.0f}), std::invalid_argument);
  EXPECT_THROW(saver.copy(std::array{1.0, 2.0, 3.0}), std::invalid_argument);
  for (const double odd : {-1.0, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
    saved_state saved;
    saved.numbers = {odd};
    EXPECT_THROW(state_loader{saved}.count(), std::out_of_range);
  }
}

} // namespace
} // namespace troupe::buffer_test
