// Writes the seeds from which fuzzing starts: for each target a folder of small good inputs, made
// by the same writers that users have, so that they cannot fall behind a change of a format.
//
//   fuzz_corpora FOLDER

#include "actors/net/carriers/carried_frame.hpp"
#include "actors/net/carriers/piece_stream.hpp"
#include "actors/net/clients/client_frames.hpp"
#include "actors/net/gate/hello.hpp"
#include "actors/protocol/status_messages.hpp"
#include "app/terminal/reports.hpp"
#include "data/checkpoint/checkpoint_layout.hpp"
#include "data/checkpoint/checkpoint_output.hpp"
#include "data/model_file/safetensors.hpp"
#include "data/records/run_recorder.hpp"
#include "data/records/trace_file.hpp"
#include "data/rows_file/rows_writer.hpp"
#include "data/training_rows/row_table.hpp"
#include "tests/fuzz/wire_types.hpp"
#include "tests/support/gzip_text.hpp"
#include "tests/support/plain_disk.hpp"
#include "tests/support/some_checkpoint.hpp"

#include <caf/binary_serializer.hpp>

#include <filesystem>
#include <fstream>
#include <iostream>

using namespace troupe;

namespace {

namespace fs = std::filesystem;

class corpora {
public:
  explicit corpora(fs::path folder) : folder_(std::move(folder)) {}

  void add(const std::string& target, const std::string& content) {
    const auto path = folder_ / target;
    fs::create_directories(path);
    std::ofstream out{path / std::to_string(counts_[target]++), std::ios::binary};
    out << content;
    if (!out.flush())
      throw std::runtime_error("cannot write " + path.string());
  }

private:
  fs::path folder_;
  std::map<std::string, size_t> counts_;
};

std::string content_of(const fs::path& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

// The first byte of these two chooses options.
void add_texts(corpora& out) {
  for (const std::string text :
       {"a,b,y\n1,2.5,x\n-3,\"4\",\"say \"\"hi\"\"\"\n", "1,2,0\n3,4e-2,1\n",
        "\xef\xbb\xbf"
        "1;2\n"})
    for (const char options : {'\0', '\1', '\6'}) {
      out.add("csv", options + text);
      out.add("csv", options + gzip_text(text));
    }
  for (const std::string text : {"1 1:0.5 3:2\n-1 2:1e3 # a comment\n", "0\n2 1:1\n"})
    for (const char options : {'\0', '\1', '\4', '\10', '\14'}) {
      out.add("libsvm", options + text);
      out.add("libsvm", options + gzip_text(text));
    }
  for (const char options : {'\1', '\12', '\41'}) {
    const std::string text = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\na\n";
    out.add("text", options + text);
    out.add("text", options + ("\xef\xbb\xbf" + text));
    out.add("text", options + gzip_text(text));
  }
}

void add_configurations(corpora& out) {
  out.add("job",
          "[job]\nname = \"a\"\nseed = 3\n[data]\nsynthetic = \"classification\"\nrows = 64\n"
          "features = 4\ntest_fraction = 0.25\n[model]\nkind = \"neural-network\"\n"
          "hidden = [8, 4]\nactivation = \"relu\"\n[training]\nepochs = 2\nbatch_size = \"all\"\n"
          "consistency = \"synchronous\"\n");
  out.add("job", "data = { file = \"a.csv\", header = \"auto\", target = 0 }\n"
                 "optimizer.kind = \"adam\"\noptimizer.schedule = { kind = \"step\", steps = 10, "
                 "factor = 0.5 }\noptimizer.plateau = { patience = 3, minimum = 0.1 }\n"
                 "checkpoint.every_steps = 5\n");
  out.add("job", "training.epochs=5");
  out.add("job",
          "[data]\nsynthetic = \"classification\"\nrows = 100\nfeatures = 10\n[model]\n"
          "kind = \"chain\"\nshape = [2, 5]\nparts = 2\nlayers = \"\"\"block repeat=2 {\n"
          "residual { layer-norm epsilon=1e-5; attention heads=5 causal=true } }; pool over=mean\n"
          "dense units=4 activation=\"gelu\" # as usual\n\"\"\"\n[parallel]\ntensor = 2\n");
  out.add("job",
          "[model]\nkind = \"chain\"\nhead = false\n[[model.layers]]\nkind = \"residual\"\n"
          "layers = [{ kind = \"dense\", units = 3 }, { kind = \"scale\", factor = 0.5 }]\n");
  out.add(
    "job",
    "[data]\nsynthetic = \"classification\"\nrows = 100\nfeatures = 10\n[model]\n"
    "kind = \"chain\"\nshape = [5, 2, 1]\nlayers = \"convolution channels=16777216 kernel=[2,4096] "
    "padding=same stride=2; pool size=1; dropout; convolution channels=9 kernel=[4096,4096]\"\n");
  out.add("job", "[data]\nsynthetic = \"regression\"\nrows = 9223372036854775807\n"
                 "features = 4611686018427387904\n[model]\nhidden = [9223372036854775807]\n"
                 "[training]\nbatch_size = 9223372036854775807\nslices = 1000000000000\n"
                 "replicas = 100000\n[runtime]\nthreads = 100000000000\n");
  out.add("job", "[data]\nsynthetic = \"regression\"\nrows = 1000000000\nfeatures = 1000000\n"
                 "[model]\nhidden = [10000000, 10000000]\n[training]\nepochs = 1000000000000\n"
                 "batch_size = 1000000000\nslices = 4096\nreplicas = 1024\n");
  out.add("cluster", "insecure = true\n[data]\nsynthetic = \"classification\"\n[[node]]\n"
                     "name = \"main\"\naddress = \"10.0.0.1:7400\"\nlisten = \"0.0.0.0:7400\"\n"
                     "director = true\nreplicas = 2\nshards = 1\n[[node]]\nname = \"worker\"\n"
                     "address = \"[::1]:7401\"\nreplicas = 0\nshards = 0\n[timeouts]\n"
                     "heartbeat = \"1s\"\nlost_after = \"5000ms\"\njoin = \"60s\"\n");
  out.add("cluster", "[data]\nsynthetic = \"regression\"\n[[node]]\nname = \"main\"\n"
                     "address = \"localhost:0\"\ndirector = true\n[tls]\nca = \"ca.pem\"\n"
                     "certificate = \"{name}.pem\"\nkey = \"{name}.key\"\n");
}

std::string bytes_of(std::initializer_list<int> values) {
  std::string result;
  for (const int value : values)
    result.push_back(static_cast<char>(value));
  return result;
}

std::string npy_text(const std::string& version, const std::string& header,
                     const std::string& values) {
  return "\x93NUMPY" + version + header + values;
}

void add_arrays(corpora& out) {
  const auto idx = bytes_of({0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 0, 4, 5, 1});
  out.add("idx", idx);
  out.add("idx", gzip_text(idx));
  out.add("idx", bytes_of({0, 0, 13, 1, 0, 0, 0, 1, 63, 128, 0, 0}));
  const std::string floats =
    "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }                          \n";
  const std::string bytes =
    "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 2), }                          \n";
  const auto length = static_cast<int>(floats.size());
  out.add("npy", npy_text(bytes_of({1, 0, length, 0}), floats, std::string(8, '\0')));
  out.add("npy", npy_text(bytes_of({2, 0, length, 0, 0, 0}), bytes, "\1\2\3\1"));
  out.add("npy", gzip_text(npy_text(bytes_of({1, 0, length, 0}), bytes, "\1\2\3\1")));
}

void add_model(corpora& out, const fs::path& scratch) {
  parameter_layout layout;
  layout.add("layers.0.weight", {1, 2});
  layout.add("layers.0.bias", {1});
  const std::vector<float> values{1, 2, 3};
  for (const auto* kind : {"linear-regression", "softmax-regression", "neural-network"}) {
    write_safetensors(scratch.string(), layout, values,
                      {{"format", "troupe-model-1"},
                       {"kind", kind},
                       {"loss", "squared"},
                       {"activation", "identity"},
                       {"features", R"(["a","b"])"},
                       {"target", R"(["y"])"}});
    out.add("safetensors", content_of(scratch));
  }
  fs::remove(scratch);
}

void add_rows(corpora& out, const fs::path& scratch) {
  dataset rows;
  rows.row_count = 5;
  rows.feature_count = 2;
  rows.feature_names = {"a", "b"};
  rows.features = {0, 1, 2, 3, 4, 5, 6, 7, 8, 255};
  rows.target_names = {"y"};
  rows.classes = {"no", "yes"};
  rows.labels = {0, 1, 1, 0, 1};
  write_rows(scratch.string(), rows, 2);
  out.add("rows", content_of(scratch));
  rows.features[3] = 0.5;
  write_rows(scratch.string(), rows, 5);
  out.add("rows", content_of(scratch));
  rows.classes.clear();
  rows.labels.clear();
  rows.target_count = 1;
  rows.targets = {1, 2, 3, 4, 0.5};
  write_rows(scratch.string(), rows, 3);
  out.add("rows", content_of(scratch));
  fs::remove(scratch);
}

void add_checkpoints(corpora& out) {
  const std::pair<uint64_t, some_checkpoint_options> kinds[] = {
    {3, {}}, {9, {}}, {3, {1, 0, false, "b"}}, {9, {5, 3, true, "c"}}};
  for (const auto& [version, options] : kinds) {
    plain_disk disk;
    const auto x = some_checkpoint(version, options);
    write_checkpoint(disk, "a", x);
    const auto& file = disk.files["a"];
    out.add("checkpoint", {reinterpret_cast<const char*>(file.data()), file.size()});
    out.add("checkpoint", texts_of(x).record);
  }
}

void add_lines(corpora& out) {
  process_facts facts;
  facts.version = "0";
  facts.node = "b";
  facts.incarnation = 5;
  const auto hello = write_hello({facts, verdict{}});
  for (const char piece : {'\0', '\4', '\xff'}) {
    out.add("hello", piece + hello);
    out.add("hello", piece + hello + write_hello({{}, verdict{verdict_kind::refused, "no"}}));
    out.add("hello", piece + write_visit({protocol_number, "0", "status"}));
  }
  out.add("hello", '\0' + hello.substr(0, hello.size() - 1));
  for (const auto& form : client_frame_forms) {
    client_frame x{form.kind, std::vector<uint64_t>(form.numbers, 3), {}, {}};
    for (size_t i = 0; i < form.text_max.size(); ++i)
      x.texts[i] = form.text_max[i] > 0 ? "text" : "";
    if (form.has_values)
      x.values = buffer{3};
    out.add("frames", client_frame_front(x) + std::string(form.has_values ? 12 : 0, '\0'));
  }
  dataset rows;
  rows.row_count = 2;
  rows.feature_count = 1;
  rows.feature_names = {"x"};
  rows.features = {1, 2};
  rows.labels = {0, 1};
  rows.classes = {"a", "b"};
  rows.target_names = {"kind"};
  row_table table;
  table.form = without_rows(rows);
  table.facts = split_at_home({"north", rows, {}}, table.form, {}).facts;
  table.holdings = {{"north", std::string(64, 'a'), table.facts.size, {"north"}}};
  row_card card{std::string(64, 'a'), form_text(table.form)};
  out.add("table", table_text(table));
  out.add("table", card_text(card));
  card.facts = facts_text(table.facts);
  card.learned = scales_text({});
  out.add("table", card_text(card));
  out.add("table", visit_answer(table_answer{.table = table_text(table)}));
  training_status status;
  status.phase = "training";
  status.late.emplace_back();
  status.nodes.resize(2);
  status.nodes[1].waits.emplace_back();
  out.add("status", status_json(status));
  out.add("status", visit_answer(status));
  out.add("status", visit_refusal({verdict_kind::refused, "no", refusal_code::finished}));
}

std::string frame_of(frame_kind kind, size_t count) {
  carried_frame frame;
  frame.kind = kind;
  frame.piece.stamp = {1, 16};
  frame.count = count;
  const auto head = write_frame(frame);
  return {reinterpret_cast<const char*>(head.data()), sizeof(head)};
}

void add_frames(corpora& out) {
  const auto piece = frame_of(frame_kind::piece, 4) + std::string(16, 'x');
  const auto stamp = frame_of(frame_kind::stamp, 0) + frame_of(frame_kind::credit, 0);
  for (const char mode : {'\0', '\1', '\2', '\3'}) {
    out.add("carrier", mode + piece + stamp + piece);
    out.add("carrier", mode + frame_of(frame_kind::slot, 7) + stamp);
    out.add("carrier", mode + frame_of(frame_kind::narrow, 7) + std::string(14, 'x') + stamp);
    out.add("carrier", mode + frame_of(frame_kind::piece, piece_elements_max) + piece);
  }
}

void add_requests(corpora& out) {
  const std::string head = "HEAD /api/status?a=b HTTP/1.0\r\nHost: 127.0.0.1:7465\r\n";
  out.add("request", head + "\r\n");
  out.add("request", head + "Content-Length: 0\r\nOrigin: http://a\r\n\r\nGET");
  out.add("request", "GET / HTTP/1.1\r\nhost: localhost\r\nSec-Fetch-Site: none\r\nAccept: a/b\r\n"
                     "If-None-Match: \"1\"\r\nAccept-Encoding: gzip\r\n\r\n");
  out.add("request", "GET /metrics HTTP/1.1\r\nHost: [::1]:1\r\nAuthorization: Bearer 0f\r\n\r\n");
  out.add("request", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
}

process_trace timeline_of(const std::string& process, const std::string& boot) {
  process_trace result{process, "00ff", boot, 80, {}, {}};
  result.tracks.push_back({"replica 0",
                           "parameters",
                           "gradient",
                           2,
                           1,
                           {{1000, 50, 0, 3, 1, trace_kind::slice},
                            {1100, 5, 7, 3, 0, trace_kind::send},
                            {1200, 5, 7, 3, 0, trace_kind::receive}}});
  return result;
}

void add_timelines(corpora& out, const fs::path& scratch) {
  const auto text_of = [&](const process_trace& x) {
    write_trace(atomic_file{scratch.string()}, x);
    return content_of(scratch);
  };
  auto main = timeline_of("main", "a");
  const auto alone = text_of(main);
  main.clocks = {{"right", {{1000, -20, 5}, {2000, 30, 4}}}};
  out.add("trace", alone);
  out.add("trace", text_of(main) + '\0' + text_of(timeline_of("right", "b")));
  out.add("trace", alone + '\0' + text_of(timeline_of("right", "a")));
  fs::remove(scratch);
}

// With rings of eight cells, or hardly anything of one would be tried.
void add_flights(corpora& out, const fs::path& folder) {
  trace_track track;
  track.actor = "replica 0";
  for (const uint64_t count : {0, 3, 20}) {
    run_recorder recorder{{folder.string(), "left", "digits", "/runs/digits"}};
    const auto ring = recorder.new_ring(track);
    for (uint64_t i = 0; i < count; ++i)
      ring->end(ring->begin(i % 2 == 0 ? trace_kind::slice : trace_kind::send, i, 1));
    auto text = content_of(recorder.path());
    fs::remove(recorder.path());
    text.resize(flight_header_bytes + flight_ring_header_bytes + 8 * sizeof(flight_cell));
    text.replace(flight_header_bytes, 8, std::string("\10\0\0\0\0\0\0\0", 8));
    out.add("flight", text);
  }
}

// Empty for what holds handles of actors: without an actor system there are none.
template <class T>
std::string saved(T message) {
  std::vector<char> bytes;
  caf::binary_serializer sink{nullptr, bytes};
  if (sink(message))
    return {};
  return {bytes.begin(), bytes.end()};
}

// Empty ones, and each with all its lengths made 1 or 2 by zeros and small numbers behind it.
void add_messages(corpora& out) {
  for (size_t i = 0; i < fuzz::wire_type_count; ++i)
    fuzz::with_message(i, [&](auto message) {
      const auto type = std::string(1, static_cast<char>(i));
      out.add("wire", type + saved(message));
      out.add("wire", type + std::string(200, '\1'));
      out.add("wire", type + std::string(200, '\2'));
    });
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: fuzz_corpora FOLDER\n";
    return 2;
  }
  const fs::path folder{argv[1]};
  fs::remove_all(folder);
  fs::create_directories(folder);
  corpora out{folder};
  add_texts(out);
  add_configurations(out);
  add_arrays(out);
  add_model(out, folder / "scratch");
  add_rows(out, folder / "scratch");
  add_checkpoints(out);
  add_lines(out);
  add_timelines(out, folder / "scratch");
  add_flights(out, folder);
  add_frames(out);
  add_requests(out);
  add_messages(out);
}
