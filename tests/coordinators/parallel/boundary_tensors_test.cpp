// Boundaries as tensors: what members of a group need of each other is what they send, no more and no less,
// and a group whose pieces travel as tensors has the bits of one whose pieces do not.

#include "coordinators/parallel/boundary_tensors.hpp"
#include "tests/support/part_company.hpp"

namespace troupe::boundary_tensors_test {

namespace {

using test::network_of_letters;
using test::part_company;
using test::slice_count;
using test::split_problem;

constexpr uint64_t version = 3;
constexpr uint64_t term = 7;

/// Each member is a process of its own: it expects what it needs, and is handed what is whole.
struct wired_company {
  struct awaited {
    size_t member;
    needed_boundary what;
    expected_tensor tensor;
    bool has_arrived = false;
  };

  wired_company(const split_problem& x, part_company& company, bool evaluates)
    : tensors(x.network, company.group) {
    for (size_t i = 0; i < company.group.size(); ++i)
      for (size_t slice = 0; slice < slice_count; ++slice)
        for (const auto& what :
             tensors.needs(i, version, {evaluates, slice, x.rows_of(slice).row_count}))
          expected.push_back({i, what, {expectation_of(what), {}}});
    company.carry = [this](const partition_work::sent& news) { return travel(news); };
  }

  static expectation expectation_of(const needed_boundary& what) {
    expectation result;
    result.kind = tensor_kind::boundary;
    result.key = version;
    result.elements = what.elements;
    const auto part = boundary_tensors::part_of(what.name, what.is_complete);
    result.parts = {part, part + 1};
    result.leaf_count = what.leaf_count;
    for (const auto& source : what.sources)
      result.sources.push_back({static_cast<peer_id>(source.member), what.elements, source.leaves});
    result.memory = [elements = what.elements](const tensor_name&) {
      return float_window{buffer{elements.size()}, elements.begin};
    };
    return result;
  }

  std::vector<boundary_piece> travel(const partition_work::sent& news) {
    const auto sent = tensors.tensor_of(term, news.piece);
    EXPECT_EQ(boundary_tensors::name_of(sent.of.key, sent.of.part), news.piece.name);
    std::vector<boundary_piece> result;
    size_t takers = 0;
    for (auto& one : expected) {
      const auto verdict =
        one.member == news.member
          ? one.tensor.offer({sent.of, sent.first_element, sent.values, sent.note, {}}, {})
          : piece_verdict::unexpected;
      EXPECT_NE(verdict, piece_verdict::conflict);
      EXPECT_NE(verdict, piece_verdict::malformed);
      takers += verdict >= piece_verdict::known ? 1 : 0;
      std::vector<exchange_effect> effects;
      one.tensor.take_arrived(effects);
      for (const auto& effect : effects)
        result.push_back(tensors.piece_of(one.what, std::get<tensor_arrived>(effect)));
    }
    EXPECT_EQ(takers, 1u) << "what is sent is needed, once";
    return result;
  }

  /// Nobody would ask for anything more.
  bool misses_nothing() {
    bool result = true;
    for (const auto& one : expected)
      one.tensor.ask(term, [&](peer_id, const tensor_want&) { result = false; });
    return result;
  }

  boundary_tensors tensors;
  std::vector<awaited> expected;
};

void expect_same_bits(const neural_network_options& options, const std::string& what) {
  const split_problem x{options};
  const auto parts = x.network->chain().part_count();
  for (size_t a = 1; a <= parts; ++a)
    for (size_t p = 1; p <= std::min<size_t>(x.network->chain().size(), 3); ++p)
      for (const auto kind : {tile_rule::work_kind::step, tile_rule::work_kind::evaluation}) {
        part_company direct{x, {1, a, p}, {}, 1};
        part_company company{x, {1, a, p}, {}, 2};
        wired_company wires{x, company, kind == tile_rule::work_kind::evaluation};
        const auto where =
          what + ", tensor " + std::to_string(a) + ", pipeline " + std::to_string(p);
        ASSERT_EQ(company.run(kind, version), direct.run(kind, version)) << where;
        ASSERT_TRUE(wires.misses_nothing()) << where;
        ASSERT_EQ(wires.expected.empty(), a * p == 1) << where;
      }
}

} // namespace

TEST(boundary_tensors, a_group_over_wires_has_the_bits_of_one_in_a_process) {
  for (const auto loss :
       {loss_kind::categorical_cross_entropy, loss_kind::squared, loss_kind::poisson})
    for (const auto* word : {"OIN", "OIO", "IOI", "NOIN", "INO"})
      expect_same_bits(network_of_letters(loss, word, 4),
                       std::string{word} + ", " + std::string{name_of(loss)});
}

TEST(boundary_tensors, parts_without_units_are_waited_for_by_nobody) {
  for (const auto* word : {"OI", "IO", "OIO", "NO"}) {
    auto options = network_of_letters(loss_kind::categorical_cross_entropy, word, 5);
    options.hidden.assign(options.hidden.size(), 3);
    options.outputs = 4;
    expect_same_bits(options, std::string{"few units, "} + word);
  }
}

TEST(boundary_tensors, names_come_back_from_their_numbers) {
  for (const auto evaluates : {false, true})
    for (const size_t item : {size_t{0}, size_t{5}, (size_t{1} << 40) + 1})
      for (const size_t boundary : {size_t{0}, size_t{7}, size_t{65535}})
        for (const auto way :
             {boundary_way::forward, boundary_way::backward, boundary_way::figures}) {
          const boundary_name name{version, evaluates, item, boundary, way};
          EXPECT_EQ(boundary_tensors::name_of(version, boundary_tensors::part_of(name, false)),
                    name);
          EXPECT_EQ(boundary_tensors::name_of(version, boundary_tensors::part_of(name, true)),
                    name);
          EXPECT_NE(boundary_tensors::part_of(name, true), boundary_tensors::part_of(name, false));
        }
}

} // namespace troupe::boundary_tensors_test
