// How fast the readers are, from files in the page cache into a table.
//
//   build/bin/readers_benchmark [--benchmark_filter=CSV]
//
// CSV counts cells (`items_per_second`) and bytes of text, arrays count bytes of the file. What to
// compare with, in the same run: `memory` copies as many bytes from the file into fresh memory,
// which is what any reader of arrays must do; `zlib` decompresses without reading what comes out.

#include "data/formats/arrays/read_array.hpp"
#include "data/formats/csv/csv.hpp"
#include "data/formats/libsvm/libsvm.hpp"
#include "data/source/text_source.hpp"
#include "tests/support/gzip_text.hpp"
#include "tests/support/temporary_folder.hpp"

#include <benchmark/benchmark.h>
#include <zlib.h>

#include <fcntl.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

namespace {

using troupe::temporary_folder;

constexpr size_t text_bytes = size_t{40} << 20;
constexpr size_t array_bytes = size_t{128} << 20;

/// The same numbers on every machine: a linear congruential generator (Knuth's MMIX).
class numbers {
public:
  uint32_t below(uint32_t limit) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>((state_ >> 33) % limit);
  }

private:
  uint64_t state_ = 1;
};

/// 64 pixels of 0 to 16, half of them 0, and a digit: as examples/data/digits.csv.gz.
std::string digits_text() {
  std::string result;
  for (numbers random; result.size() < text_bytes;) {
    for (int i = 0; i < 64; ++i)
      result += std::to_string(random.below(2) ? random.below(17) : 0) + ",";
    result += std::to_string(random.below(10)) + "\n";
  }
  return result;
}

/// 50 features of 7 characters ("0.12345"), 8 with the comma, and a digit.
std::string floats_text() {
  std::string result;
  for (numbers random; result.size() < text_bytes;) {
    for (int i = 0; i < 50; ++i)
      result += "0." + std::to_string(10000 + random.below(90000)) + ",";
    result += std::to_string(random.below(10)) + "\n";
  }
  return result;
}

std::string sparse_text() {
  std::string result;
  for (numbers random; result.size() < text_bytes;) {
    result += random.below(2) ? "+1" : "-1";
    for (uint32_t i = 1; i < 120; i += 1 + random.below(15))
      result += " " + std::to_string(i) + ":0." + std::to_string(10 + random.below(90));
    result += "\n";
  }
  return result;
}

std::string idx_header(char type, uint32_t rows, uint32_t columns) {
  std::string result{'\0', '\0', type, '\2'};
  for (const auto extent : {rows, columns})
    for (int shift = 24; shift >= 0; shift -= 8)
      result += static_cast<char>(extent >> shift & 255);
  return result;
}

std::string npy_text(uint32_t rows, uint32_t columns) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" +
                       std::to_string(rows) + ", " + std::to_string(columns) + "), }\n";
  std::string result = "\x93NUMPY";
  result += {'\1', '\0', static_cast<char>(header.size()), '\0'};
  return result + header + std::string(size_t{rows} * columns * 4, '\0');
}

void set_bytes(benchmark::State& state, size_t bytes) {
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes));
}

void csv(benchmark::State& state, std::string (*make)(), bool compressed) {
  temporary_folder folder;
  const auto text = make();
  const auto path = folder.write("rows.csv", compressed ? troupe::gzip_text(text) : text);
  size_t cells = 0;
  for (auto _ : state) {
    const auto rows = troupe::read_csv(path);
    cells = rows.row_count * (rows.feature_count + 1);
    benchmark::DoNotOptimize(rows.features.data());
  }
  set_bytes(state, text.size());
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * cells));
}

void libsvm(benchmark::State& state) {
  temporary_folder folder;
  const auto text = sparse_text();
  const auto path = folder.write("rows.svm", text);
  for (auto _ : state)
    benchmark::DoNotOptimize(troupe::read_libsvm(path).features.data());
  set_bytes(state, text.size());
}

void array(benchmark::State& state, const std::string& content, uint32_t rows) {
  temporary_folder folder;
  const auto path = folder.write("rows", content);
  const auto labels = folder.write("labels", idx_header(8, rows, 1) + std::string(rows, '\1'));
  size_t table_bytes = 0;
  for (auto _ : state) {
    const auto read = troupe::read_array(path, {labels});
    table_bytes = read.features.size() * sizeof(float);
    benchmark::DoNotOptimize(read.features.data());
  }
  set_bytes(state, content.size());
  state.counters["table_bytes_per_second"] = benchmark::Counter(
    static_cast<double>(state.iterations() * table_bytes), benchmark::Counter::kIsRate);
}

constexpr uint32_t columns = 784;
constexpr uint32_t float_rows = array_bytes / 4 / columns;
constexpr uint32_t byte_rows = array_bytes / 4 / columns; // the table is as large

void npy_floats(benchmark::State& state) {
  array(state, npy_text(float_rows, columns), float_rows);
}

void idx_bytes(benchmark::State& state) {
  array(state, idx_header(8, byte_rows, columns) + std::string(size_t{byte_rows} * columns, '\7'),
        byte_rows);
}

void idx_floats(benchmark::State& state) {
  array(state,
        idx_header(13, float_rows, columns) + std::string(size_t{float_rows} * columns * 4, '\0'),
        float_rows);
}

/// The least that reading an array takes: its bytes, in fresh memory.
void memory(benchmark::State& state) {
  temporary_folder folder;
  const auto path = folder.write("rows", std::string(array_bytes, '\0'));
  for (auto _ : state) {
    const int file = ::open(path.c_str(), O_RDONLY);
    const std::unique_ptr<char[]> target(new char[array_bytes]);
    size_t count = 0;
    for (ssize_t more = 1; more > 0 && count < array_bytes; count += static_cast<size_t>(more))
      more = ::read(file, target.get() + count, array_bytes - count);
    ::close(file);
    benchmark::DoNotOptimize(target.get());
  }
  set_bytes(state, array_bytes);
}

/// Our source of text over gzip data, and zlib alone over the same in memory.
void gzip_source(benchmark::State& state) {
  temporary_folder folder;
  const auto text = floats_text();
  const auto path = folder.write("rows.gz", troupe::gzip_text(text));
  std::vector<char> out(size_t{1} << 18);
  for (auto _ : state) {
    troupe::text_source source(path);
    while (source.read(out) > 0)
      benchmark::DoNotOptimize(out.data());
  }
  set_bytes(state, text.size());
}

void zlib(benchmark::State& state, std::string (*make)()) {
  const auto text = make();
  auto packed = troupe::gzip_text(text);
  std::vector<unsigned char> out(size_t{1} << 18);
  for (auto _ : state) {
    z_stream stream{};
    inflateInit2(&stream, 15 + 16);
    stream.next_in = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_in = static_cast<uInt>(packed.size());
    for (int status = Z_OK; status == Z_OK;) {
      stream.next_out = out.data();
      stream.avail_out = static_cast<uInt>(out.size());
      status = inflate(&stream, Z_NO_FLUSH);
    }
    inflateEnd(&stream);
  }
  set_bytes(state, text.size());
}

} // namespace

BENCHMARK_CAPTURE(csv, digits, digits_text, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(csv, floats, floats_text, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(csv, digits_gzip, digits_text, true)
  ->Unit(benchmark::kMillisecond)
  ->UseRealTime();
BENCHMARK_CAPTURE(zlib, digits, digits_text)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(csv, floats_gzip, floats_text, true)
  ->Unit(benchmark::kMillisecond)
  ->UseRealTime();
BENCHMARK(gzip_source)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(zlib, floats, floats_text)->Unit(benchmark::kMillisecond);
BENCHMARK(libsvm)->Unit(benchmark::kMillisecond);
BENCHMARK(npy_floats)->Unit(benchmark::kMillisecond);
BENCHMARK(idx_floats)->Unit(benchmark::kMillisecond);
BENCHMARK(idx_bytes)->Unit(benchmark::kMillisecond);
BENCHMARK(memory)->Unit(benchmark::kMillisecond);

BENCHMARK_MAIN();
