#include "data/model_file/safetensors.hpp"

#include "data/model_file/safetensors_header.hpp"
#include "data/text/checksum.hpp"
#include "data/text/failure.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::safetensors_test {
namespace {

using namespace std::string_literals;

std::string length_text(uint64_t length) {
  std::string result;
  for (int i = 0; i < 8; ++i)
    result += static_cast<char>(length >> (8 * i) & 0xff);
  return result;
}

/// A file with this header and `data_bytes` zeros behind it.
std::string file_with(const std::string& header, size_t data_bytes = 0) {
  return length_text(header.size()) + header + std::string(data_bytes, '\0');
}

std::string tensor(std::string_view name, std::string_view shape, std::string_view offsets,
                   std::string_view type = "F32") {
  return "\"" + std::string(name) + "\":{\"dtype\":\"" + std::string(type) +
         "\",\"shape\":" + std::string(shape) + ",\"data_offsets\":" + std::string(offsets) + "}";
}

parameter_layout two_tensors() {
  parameter_layout result;
  result.add("layers.0.weight", {1, 2});
  result.add("layers.0.bias", {1});
  return result;
}

void expect_refused(const std::string& content, const std::string& part) {
  temporary_folder folder;
  auto path = folder.write("model.safetensors", content);
  const auto error = test::failure_of([&] { read_safetensors(path); });
  EXPECT_EQ(error.code(), failure_code::bad_data) << part;
  EXPECT_EQ(error.where(), path) << part;
  EXPECT_TRUE(test::contains(error.reason(), part));
}

TEST(safetensors, files_are_written_byte_for_byte_as_the_format_says) {
  temporary_folder folder;
  std::vector<float> values{1, -2, 0.5};
  auto digest = write_safetensors(folder.path("m"), two_tensors(), values, {{"kind", "x\n"}});
  auto header = "{\"__metadata__\":{\"kind\":\"x\\n\"},"
                "\"layers.0.weight\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]},"
                "\"layers.0.bias\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]}}"s;
  header.append(2, ' '); // from 166 bytes to 21 * 8
  auto data = "\x00\x00\x80\x3f\x00\x00\x00\xc0\x00\x00\x00\x3f"s;
  EXPECT_EQ(header.size(), 168u);
  EXPECT_EQ(folder.read("m"), length_text(header.size()) + header + data);
  // printf '\x00\x00\x80\x3f\x00\x00\x00\xc0\x00\x00\x00\x3f' | sha256sum
  EXPECT_EQ(digest, "2ce4bdb6b34a50ac7092eb9fee94337a27498e9eb9bae44192f15b88831b2422");
  EXPECT_EQ(sha256_hex(std::as_bytes(std::span(values))), digest);
}

TEST(safetensors, what_was_written_is_read) {
  temporary_folder folder;
  std::vector<float> values{std::numeric_limits<float>::quiet_NaN(), -0.0f, 1e-45f};
  std::map<std::string, std::string> metadata{{"", "empty name"}, {"classes", "a\0\"\xc3\xa9"s}};
  auto digest = write_safetensors(folder.path("m"), two_tensors(), values, metadata);
  auto file = read_safetensors(folder.path("m"));
  EXPECT_EQ(file.layout, two_tensors());
  EXPECT_EQ(file.metadata, metadata);
  EXPECT_EQ(file.data_sha256, digest);
  ASSERT_EQ(file.values.size(), 3u);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(std::bit_cast<uint32_t>(file.values[i]), std::bit_cast<uint32_t>(values[i]));
}

TEST(safetensors, large_tensors_are_read_whole) {
  temporary_folder folder;
  parameter_layout layout;
  layout.add("w", {1000, 1001});
  std::vector<float> values(layout.size());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i);
  write_safetensors(folder.path("m"), layout, values, {});
  EXPECT_EQ(read_safetensors(folder.path("m")).values, values);
}

TEST(safetensors, an_empty_layout_is_a_file_too) {
  temporary_folder folder;
  write_safetensors(folder.path("m"), {}, std::span<const float>{}, {});
  auto file = read_safetensors(folder.path("m"));
  EXPECT_TRUE(file.layout.tensors().empty());
  EXPECT_TRUE(file.metadata.empty());
  EXPECT_TRUE(file.values.empty());
}

TEST(safetensors, tensors_are_taken_in_the_order_of_their_data) {
  temporary_folder folder;
  auto header = "{" + tensor("b", "[2]", "[4,12]") + "," + tensor("a", "[]", "[0,4]") + "}  ";
  auto layout = read_safetensors(folder.write("m", file_with(header, 12))).layout;
  ASSERT_EQ(layout.tensors().size(), 2u);
  EXPECT_EQ(layout.tensors()[0], (tensor_info{"a", {1}, 0, 1}));
  EXPECT_EQ(layout.tensors()[1], (tensor_info{"b", {2}, 1, 2}));
}

TEST(safetensors, a_header_whose_length_looks_like_gzip_is_read) {
  temporary_folder folder;
  std::string header = "{}";
  header.resize(0x8b1f, ' ');
  EXPECT_EQ(read_safetensors(folder.write("m", file_with(header))).layout.size(), 0u);
}

TEST(safetensors, callers_must_give_what_the_layout_says) {
  temporary_folder folder;
  auto path = folder.path("m");
  std::vector<float> values(3);
  parameter_layout reserved, latin;
  reserved.add("__metadata__", {3});
  latin.add("\xe4", {3});
  EXPECT_THROW(write_safetensors(path, two_tensors(), std::span(values).first(2), {}),
               std::invalid_argument);
  EXPECT_THROW(write_safetensors(path, reserved, values, {}), std::invalid_argument);
  EXPECT_THROW(write_safetensors(path, latin, values, {}), std::invalid_argument);
  EXPECT_THROW(write_safetensors(path, two_tensors(), values, {{"a", "\xe4"}}),
               std::invalid_argument);
  EXPECT_THROW(write_safetensors(path, two_tensors(), values, {{"\xe4", "a"}}),
               std::invalid_argument);
  EXPECT_FALSE(folder.has("m"));
}

TEST(safetensors, missing_files_are_told_as_such) {
  temporary_folder folder;
  const auto error = test::failure_of([&] { read_safetensors(folder.path("none")); });
  EXPECT_EQ(error.code(), failure_code::missing_input);
}

TEST(safetensors, files_cut_anywhere_are_refused) {
  temporary_folder folder;
  write_safetensors(folder.path("m"), two_tensors(), std::vector<float>(3), {{"a", "b"}});
  auto content = folder.read("m");
  for (size_t size = 0; size < content.size(); ++size) {
    folder.write("cut", content.substr(0, size));
    EXPECT_THROW(read_safetensors(folder.path("cut")), failure) << size;
  }
  expect_refused(content.substr(0, 7), "ends inside its first 8 bytes");
  expect_refused(content.substr(0, 20), "ends inside its header");
  expect_refused(content.substr(0, content.size() - 1), "ends inside its data");
  expect_refused(content + "x", "more data than the tensors' 12 bytes");
}

TEST(safetensors, header_lengths_are_not_believed) {
  expect_refused(length_text(~uint64_t{0}) + "{}", "it does not begin as a model file does");
  expect_refused(length_text(100'000'001) + "{}", "it does not begin as a model file does");
  expect_refused(length_text(100'000'000) + "{}", "ends inside its header");
}

TEST(safetensors, headers_that_do_not_describe_tensors_are_refused) {
  const auto a = tensor("a", "[1]", "[0,4]");
  const std::pair<std::string, const char*> headers[] = {
    {"", "not a JSON object"},
    {" {}", "not a JSON object"},
    {"{}\0"s, "not a JSON object"},
    {"{} {}", "not JSON"},
    {"{", "not JSON"},
    {"{\"\xe4\":{}}", "not JSON"},
    {"{/**/}", "not JSON"},
    {R"({"a":1e999})", "not JSON"},
    {R"({"a":1})", "the value of 'a' may not be a number"},
    {R"({"a":null})", "may not be null"},
    {R"({"a":[]})", "may not be an array"},
    {"{\"a\":" + std::string(1'000'000, '['), "may not be an array"},
    {R"({"a":"F32"})", "may not be text"},
    {R"({"__metadata__":[]})", "may not be an array"},
    {R"({"__metadata__":{"a":1}})", "may not be a number"},
    {R"({"__metadata__":{"a":{}}})", "may not be an object"},
    {"{" + tensor("a", "2", "[0,8]") + "}", "may not be a number"},
    {"{" + tensor("a", "\"2\"", "[0,8]") + "}", "may not be text"},
    {"{" + tensor("a", "[-2]", "[0,8]") + "}", "a negative number"},
    {"{" + tensor("a", "[2.0]", "[0,8]") + "}", "a fraction"},
    {"{" + tensor("a", "[true]", "[0,8]") + "}", "true or false"},
    {"{" + tensor("a", "[[2]]", "[0,8]") + "}", "an array"},
    {"{" + tensor("a", "{}", "[0,8]") + "}", "an object"},
    {R"({"a":{"dtype":[]}})", "may not be an array"},
    {"{" + a + "," + a + "}", "two entries of the header are called 'a'"},
    {R"({"__metadata__":{},"__metadata__":{}})", "two entries"},
    {R"({"__metadata__":{"a":"","a":""}})", "two texts"},
    {R"({"a":{"dtype":"F32","shape":[1]}})", "tensor 'a': the key 'data_offsets' is missing"},
    {R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", "'shape'"},
    {R"({"a":{"shape":[1],"data_offsets":[0,4]}})", "'dtype'"},
    {R"({"a":{"shape":[1],"shape":[1]}})", "'shape' comes twice"},
    {R"({"a":{"size":[1]}})", "the key 'size' is unknown"},
    {"{" + tensor("a", "[1]", "[0]") + "}", "not two numbers"},
    {"{" + tensor("a", "[1]", "[0,4,8]") + "}", "not two numbers"},
    {"{" + tensor("a", "[1]", "[0,2]", "BF16") + "}", "tensor 'a': its type is 'BF16'"},
  };
  for (const auto& [header, reason] : headers)
    expect_refused(file_with(header, 4), reason);
}

TEST(safetensors, shapes_that_cannot_be_are_refused) {
  expect_refused(file_with("{" + tensor("a", "[2,0]", "[0,0]") + "}"),
                 "tensor 'a': its shape holds a 0");
  // 2^32 * 2^30 elements have 2^64 bytes: 0 to who does not look.
  expect_refused(file_with("{" + tensor("a", "[4294967296,1073741824]", "[0,0]") + "}"),
                 "its shape is too large");
  std::string ones = "1";
  for (int i = 0; i < 64; ++i)
    ones += ",1";
  expect_refused(file_with("{" + tensor("a", "[" + ones + "]", "[0,4]") + "}", 4),
                 "'shape' holds more than 64 numbers");
}

TEST(safetensors, offsets_that_do_not_fit_are_refused) {
  auto two = [](std::string_view first, std::string_view second) {
    return file_with("{" + tensor("a", "[2]", first) + "," + tensor("b", "[1]", second) + "}", 12);
  };
  temporary_folder folder;
  EXPECT_EQ(read_safetensors(folder.write("m", two("[0,8]", "[8,12]"))).values.size(), 3u);
  expect_refused(two("[0,8]", "[4,8]"), "tensor 'b': its data begin at offset 4, inside");
  expect_refused(two("[0,8]", "[12,16]"), "tensor 'b': its data begin at offset 12, after a hole");
  expect_refused(two("[4,12]", "[12,16]"), "tensor 'a': its data begin at offset 4, after a hole");
  expect_refused(two("[0,12]", "[12,16]"),
                 "tensor 'a': its offsets [0, 12] do not span the 8 bytes");
  expect_refused(two("[0,8]", "[8,4]"), "tensor 'b': its offsets [8, 4]");
  expect_refused(two("[0,8]", "[8,18446744073709551612]"), "tensor 'b': its offsets");
  // Modulo 2^64 the size is right, and the bytes of both tensors together are 0.
  auto wrapped = tensor("a", "[1]", "[0,4]") + "," + tensor("b", "[4611686018427387903]", "[4,0]");
  expect_refused(file_with("{" + wrapped + "}"), "tensor 'b': its offsets [4, 0]");
}

TEST(safetensors, huge_tensors_in_a_small_file_cost_no_memory) {
  auto header = "{" + tensor("a", "[4611686018427387903]", "[0,18446744073709551612]") + "}";
  expect_refused(file_with(header, 100), "ends inside its data");
}

TEST(safetensors, counts_are_bounded) {
  std::string tensors, texts;
  for (size_t i = 0; i <= safetensors_tensors_max; ++i)
    tensors.append(i ? "," : "").append(tensor(std::to_string(i), "[1]", "[0,4]"));
  expect_refused(file_with("{" + tensors + "}"), "more than 16384 tensors");
  for (size_t i = 0; i <= 65'536; ++i)
    texts.append(i ? "," : "").append("\"").append(std::to_string(i)).append("\":\"\"");
  expect_refused(file_with("{\"__metadata__\":{" + texts + "}}"), "more than 65536 metadata");
}

} // namespace
} // namespace troupe::safetensors_test
