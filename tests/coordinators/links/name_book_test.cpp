#include "troupe/coordinators/links/name_book.hpp"

#include <gtest/gtest.h>

namespace troupe::name_book_test {

namespace {

using namespace std::chrono_literals;
using advice = name_book::advice;

const process_identity one{"host-1", 1};
const process_identity other{"host-2", 2};

TEST(name_book, a_name_has_one_holder) {
  name_book names{5s};
  EXPECT_EQ(names.on_candidate("b", one, 1), advice::let_in);
  EXPECT_EQ(names.on_candidate("b", other, 2), advice::later);
  EXPECT_EQ(names.on_candidate("c", other, 3), advice::let_in);
  EXPECT_FALSE(names.on_opened("b", other, 2, moment{}));
  EXPECT_TRUE(names.on_opened("b", one, 1, moment{}));
  EXPECT_EQ(names.on_candidate("b", other, 4), advice::later) << "it is being introduced";
  EXPECT_FALSE(names.on_introduced("b", 2));
  EXPECT_TRUE(names.on_introduced("b", 1));
  EXPECT_EQ(names.on_candidate("b", other, 5), advice::ask_holder);
  names.on_lost("b");
  EXPECT_EQ(names.on_candidate("b", other, 6), advice::let_in);
}

TEST(name_book, a_promise_that_is_not_kept_is_void) {
  name_book names{5s};
  names.on_candidate("b", one, 1);
  names.on_withdrawn(7);
  EXPECT_EQ(names.on_candidate("b", other, 2), advice::later);
  names.on_withdrawn(1);
  EXPECT_EQ(names.on_candidate("b", other, 3), advice::let_in);
  names.on_opened("b", other, 3, moment{});
  names.on_introduced("b", 3);
  names.on_withdrawn(3);
  EXPECT_EQ(names.on_candidate("b", one, 4), advice::ask_holder);
}

TEST(name_book, a_process_never_meets_its_own_name) {
  name_book names{5s};
  names.on_candidate("b", one, 1);
  EXPECT_EQ(names.on_candidate("b", one, 2), advice::later) << "its gate still has the first";
  names.on_opened("b", one, 1, moment{});
  EXPECT_EQ(names.on_candidate("b", one, 3), advice::replace);
  names.on_introduced("b", 1);
  EXPECT_EQ(names.on_candidate("b", one, 4), advice::replace);
  const process_identity twin{one.process, 9};
  EXPECT_EQ(names.on_candidate("b", twin, 5), advice::ask_holder) << "another life is another one";
}

TEST(name_book, an_opened_connection_is_overdue_at_its_deadline) {
  name_book names{5s};
  EXPECT_TRUE(names.on_opened("b", one, 1, moment{} + 1s)) << "dialled: nobody asked before";
  names.on_candidate("c", other, 2);
  EXPECT_TRUE(names.overdue(moment{} + 5999ms).empty());
  EXPECT_EQ(names.overdue(moment{} + 6s), std::vector<uint64_t>{1});
  names.on_introduced("b", 1);
  EXPECT_TRUE(names.overdue(moment{} + 1h).empty()) << "a promise is the gate's to end";
}

} // namespace

} // namespace troupe::name_book_test
