// Companies of exchanges over a wire that loses, delays, reorders, duplicates and damages, by
// seeds: gradients, versions, checkpoints, orders and results at once; links that come and go,
// processes that begin anew, slices that move, terms. Whatever befalls them, what becomes whole is
// what was published, credit and memory are kept, and after the last fault it ends.
//
// TROUPE_EXCHANGE_SEEDS=0..100000 runs those seeds; a failure names the one that repeats it.

#include "tests/simulation/dice.hpp"
#include "tests/support/exchange/exchange_company.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

namespace troupe::faulty_wire_test {

using namespace test;

TEST(faulty_wire, everything_arrives_as_it_was_published_and_it_ends) {
  const char* text = std::getenv("TROUPE_EXCHANGE_SEEDS");
  const auto seeds = simulation::read_seeds(text == nullptr ? "0..400" : text);
  ASSERT_TRUE(seeds) << "TROUPE_EXCHANGE_SEEDS is FIRST..BEHIND_THE_LAST";
  size_t pieces = 0, damaged = 0, terms = 0, jumps = 0, resends = 0, early = 0;
  for (auto seed = seeds->first; seed < seeds->last; ++seed) {
    exchange_company all{plan_of(seed), seed};
    ASSERT_EQ(all.run(), "") << "TROUPE_EXCHANGE_SEEDS=" << seed;
    pieces += all.pieces;
    damaged += all.damaged;
    terms += all.terms;
    jumps += all.jumps;
    resends += all.resends;
    early += all.early;
  }
  std::cout << pieces << " pieces, " << damaged << " damaged, " << resends << " sent again, "
            << early << " bytes early, " << jumps << " jumps, " << terms << " terms\n";
}

} // namespace troupe::faulty_wire_test
