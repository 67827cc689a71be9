// The lines of a hello and of a visit, and both sides of the exchange with bytes in any pieces.

#include "actors/net/gate/hello.hpp"
#include "tests/fuzz/hostile.hpp"

#include <algorithm>
#include <utility>

using namespace troupe;

namespace {

process_facts facts_of(const std::string& name) {
  process_facts x;
  x.node = name;
  return x;
}

cluster_plan two_nodes() {
  cluster_plan plan;
  plan.nodes = {{"a", "127.0.0.1:1", "", true, 1, 1}, {"b", "127.0.0.1:2", "", false, 1, 0}};
  return plan;
}

// The caller does what a gate would: it answers as soon as it is asked.
void talk(greeting x, std::string_view text, size_t piece) {
  while (!text.empty()) {
    const size_t length = std::min(piece, text.size());
    x.on_bytes(text.substr(0, length));
    text.remove_prefix(length);
    if (x.state() == greeting::phase::asking)
      x.on_answer({});
    else if (x.state() == greeting::phase::visited)
      x.on_visit_answer("{}\n");
    fuzz::require(x.output().size() <= 2 * hello_bytes_max, "answers are short");
    fuzz::require(x.believes() || x.outcome().kind == verdict_kind::later,
                  "who has not proven its name refuses and admits nobody");
    if (x.state() == greeting::phase::broken || x.state() == greeting::phase::over)
      return;
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size == 0)
    return 0;
  const auto text = fuzz::text_of(bytes + 1, size - 1);
  if (const auto line = read_hello(text)) {
    auto written = write_hello(*line);
    written.pop_back();
    fuzz::require(read_hello(written) == line, "a line survives being written");
  }
  read_visit(text);
  const size_t piece = 1 + bytes[0];
  talk({facts_of("a"), two_nodes()}, text, piece);
  talk({facts_of("b"), two_nodes(), "a"}, text, piece);
  greeting doubting{facts_of("b"), two_nodes(), "a"};
  doubting.on_proof({"c"});
  talk(doubting, text, piece);
  return 0;
}
