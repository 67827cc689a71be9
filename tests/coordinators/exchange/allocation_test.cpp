// Steps in a steady state allocate nothing: gradients that leave while they are computed, versions
// that replace others, credit that comes back.

#include "coordinators/exchange/tensor_exchange.hpp"
#include "tests/support/counted_allocations.hpp"

#include <gtest/gtest.h>

#include <array>
#include <variant>
#include <vector>

namespace troupe::allocation_test {

namespace {

/// A process of a run in its steady state, to two others.
class steady_process {
public:
  steady_process() {
    exchange_.begin_term(1);
    for (size_t i = 0; i < peers.size(); ++i)
      exchange_.link_opened(peers[i], i + 1, true);
  }

  /// Layer by layer, the last one first; then its span of the next version.
  void step(uint64_t number) {
    kept_tensor gradient{{tensor_kind::gradient, 1, number, {0, 2}}, 0, {sums_, 0, sums_.size()}};
    const std::array<tensor_route, 2> owners{{{peers[0], {0, 500}}, {peers[1], {500, 900}}}};
    for (const index_range layer : {index_range{700, 1000}, {400, 700}, {0, 200}})
      exchange_.grow(gradient, layer, owners, {});
    exchange_.publish(gradient, owners, {});
    kept_tensor version{
      {tensor_kind::parameters, 1, number + 1}, 900, {parameters_, 900, 100}, {}, {}, 2};
    const std::array<tensor_route, 2> others{{{peers[0], {0, 1000}}, {peers[1], {0, 1000}}}};
    exchange_.publish(version, others, {});
    exchange_.forget(tensor_kind::gradient, keys_before(number));
    exchange_.tick({});
    give_credit();
  }

  size_t sent = 0; ///< pieces

private:
  static constexpr std::array peers{peer_id{1}, peer_id{2}};

  void give_credit() {
    do {
      exchange_.take_effects(effects_);
      for (const auto& effect : effects_)
        if (const auto* piece = std::get_if<send_piece>(&effect)) {
          ++sent;
          exchange_.on_credit(piece->to, piece->what.stamp, {});
        }
    } while (!effects_.empty());
  }

  tensor_exchange exchange_{{1000, 64}};
  buffer sums_{1000};
  buffer parameters_{1000};
  std::vector<exchange_effect> effects_;
};

} // namespace

TEST(exchange_allocation, none_in_a_step_after_the_first_few) {
  steady_process process;
  for (uint64_t step = 0; step < 4; ++step)
    process.step(step);
  const auto before = allocation_count;
  process.sent = 0;
  for (uint64_t step = 4; step < 20; ++step)
    process.step(step);
  EXPECT_EQ(allocation_count, before);
  EXPECT_EQ(process.sent, 16u * 22) << "it did send";
}

} // namespace troupe::allocation_test
