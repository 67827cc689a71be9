// Decisions over a wire that loses, repeats and delays: the other end has each once, in order.

#include "actors/spans/sequence_link.hpp"

#include <gtest/gtest.h>

#include <random>

namespace troupe::sequence_link_test {
namespace {

using namespace std::chrono_literals;

std::vector<sequence_entry> entries(uint64_t first, uint64_t count) {
  std::vector<sequence_entry> result;
  for (uint64_t i = 0; i < count; ++i)
    result.push_back({.kind = entry_kind::close, .position = first + i});
  return result;
}

size_t count_of(const std::vector<sequence_outbox::message>& messages) {
  size_t result = 0;
  for (const auto& x : messages)
    result += x.entries.size();
  return result;
}

TEST(sequence_link, a_decision_goes_out_at_once_and_again_after_silence) {
  sequence_outbox out;
  moment now{};
  out.begin_term({"b"});
  out.add(entries(1, 2));
  EXPECT_EQ(count_of(out.due(now)), 0u) << "nobody is there yet";
  out.on_progress("b", 0, now);
  EXPECT_EQ(count_of(out.due(now)), 2u);
  EXPECT_EQ(count_of(out.due(now + 199ms)), 0u);
  out.add(entries(3, 1));
  const auto news = out.due(now + 199ms);
  ASSERT_EQ(news.size(), 1u);
  EXPECT_EQ(news[0].entries, entries(3, 1)) << "only what is new";
  EXPECT_EQ(count_of(out.due(now + 200ms)), 3u) << "all that is not acknowledged";
  out.on_progress("b", 3, now + 210ms);
  EXPECT_EQ(count_of(out.due(now + 10s)), 0u);
}

TEST(sequence_link, what_an_owner_says_of_the_future_or_of_the_past_changes_nothing) {
  sequence_outbox out;
  const moment now{};
  out.begin_term({"b", "c"});
  out.add(entries(1, 3));
  for (const auto* who : {"b", "c"})
    out.on_progress(who, 0, now);
  EXPECT_EQ(count_of(out.due(now)), 6u);
  out.on_progress("b", 4, now);
  out.on_progress("x", 3, now);
  EXPECT_EQ(count_of(out.due(now + 200ms)), 6u);
  out.on_progress("b", 3, now + 200ms);
  out.on_progress("b", 1, now + 200ms);
  EXPECT_EQ(count_of(out.due(now + 1s)), 3u) << "the other one's";
}

TEST(sequence_link, decisions_that_are_not_the_next_ones_go_nowhere) {
  sequence_outbox out;
  const moment now{};
  out.begin_term({"b"});
  out.on_progress("b", 0, now);
  out.add(entries(2, 3));
  EXPECT_EQ(count_of(out.due(now)), 0u);
  out.add(entries(1, 3));
  out.add(entries(1, 3));
  EXPECT_EQ(count_of(out.due(now)), 3u);
}

TEST(sequence_link, a_new_term_begins_with_the_first_position) {
  sequence_outbox out;
  sequence_inbox in;
  const moment now{};
  out.begin_term({"b"});
  out.on_progress("b", 0, now);
  out.add(entries(1, 3));
  EXPECT_EQ(in.accept(out.due(now).at(0).entries).size(), 3u);
  out.begin_term({"b"});
  out.on_progress("b", 0, now);
  in.begin_term();
  EXPECT_EQ(count_of(out.due(now + 10s)), 0u) << "those of the term before are gone";
  out.add(entries(1, 1));
  EXPECT_EQ(in.accept(out.due(now + 10s).at(0).entries).size(), 1u);
}

TEST(sequence_link, every_decision_arrives_once_and_in_order) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random{seed};
    const auto chance = [&](uint64_t percent) { return random() % 100 < percent; };
    sequence_outbox out;
    std::map<std::string, sequence_inbox> in{{"b", {}}, {"c", {}}};
    std::map<std::string, uint64_t> applied{{"b", 0}, {"c", 0}};
    std::vector<sequence_outbox::message> late;
    moment now{};
    out.begin_term({"b", "c"});
    for (const auto* who : {"b", "c"})
      out.on_progress(who, 0, now);
    uint64_t written = 0;
    const auto bring = [&](const sequence_outbox::message& x, bool knows) {
      for (const auto& entry : in[x.to].accept(x.entries))
        ASSERT_EQ(entry.position, ++applied[x.to]);
      if (knows)
        out.on_progress(x.to, in[x.to].position(), now);
    };
    for (int turn = 0;
         turn < 4000 && !(written == 3000 && applied["b"] == 3000 && applied["c"] == 3000);
         ++turn) {
      const auto count = std::min<uint64_t>(random() % 40, 3000 - written);
      out.add(entries(written + 1, count));
      written += count;
      for (const auto& x : out.due(now)) {
        if (chance(20))
          continue;
        chance(20) ? late.push_back(x) : bring(x, chance(70));
        if (chance(10))
          bring(x, chance(70));
      }
      if (!late.empty() && chance(30)) {
        bring(late.front(), true);
        late.erase(late.begin());
      }
      now += milliseconds{random() % 300};
    }
    EXPECT_EQ(applied["b"], 3000u) << seed;
    EXPECT_EQ(applied["c"], 3000u) << seed;
  }
}

} // namespace
} // namespace troupe::sequence_link_test
