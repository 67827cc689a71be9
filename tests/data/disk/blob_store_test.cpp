// Checkpoints in an application's own store, which is no disk.

#include "data/disk/blob_store.hpp"

#include "data/checkpoint/checkpoint_store.hpp"
#include "data/text/failure.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/some_checkpoint.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <map>

namespace troupe::blob_store_test {
namespace {

/// Objects in memory.
class some_store : public blob_store {
public:
  void put(const std::string& name, std::span<const std::byte> bytes) override {
    if (!problem.empty())
      throw std::runtime_error{problem};
    objects[name].assign(bytes.begin(), bytes.end());
  }
  std::optional<std::vector<std::byte>> get(const std::string& name) const override {
    const auto found = objects.find(name);
    return found == objects.end() ? std::nullopt : std::optional{found->second};
  }
  std::vector<std::string> list(const std::string& beginning) const override {
    std::vector<std::string> result;
    for (const auto& [name, bytes] : objects)
      if (name.starts_with(beginning))
        result.push_back(name);
    return result;
  }
  void erase(const std::string& name) override { objects.erase(name); }

  std::map<std::string, std::vector<std::byte>> objects;
  std::string problem;
};

struct blob_stores : testing::Test {
  std::shared_ptr<some_store> objects = std::make_shared<some_store>();
  std::shared_ptr<disk> where = disk_of(objects);
};

TEST_F(blob_stores, hold_checkpoints_and_nothing_else) {
  checkpoint_store store{where, "run 7"};
  EXPECT_FALSE(store.latest("a1").newest);
  for (const uint64_t version : {2, 4, 10})
    store.write(some_checkpoint(version));
  store.write_term(12);
  EXPECT_EQ(objects->list(""),
            (std::vector<std::string>{store.path_of(4), store.path_of(10), "run 7/term"}));
  const checkpoint_store again{disk_of(objects), "run 7"}; // of another process
  const auto found = again.latest("a1");
  ASSERT_TRUE(found.newest);
  EXPECT_EQ(found.newest->version, 10u);
  const auto values = found.newest->parameters.values();
  EXPECT_TRUE(std::ranges::equal(values, some_tensor(5, 100).values()));
  EXPECT_EQ(again.read_term(), 12u);
  EXPECT_EQ((checkpoint_store{where, "run"}.versions()), (std::vector<uint64_t>{}))
    << "another folder, though its name begins alike";
}

TEST_F(blob_stores, a_store_that_fails_costs_no_older_checkpoint) {
  checkpoint_store store{where, "run"};
  store.write(some_checkpoint(2));
  objects->problem = "the bucket is gone";
  const auto problem = test::failure_of([&] { store.write(some_checkpoint(4)); });
  EXPECT_EQ(problem.code(), failure_code::io_error);
  EXPECT_NE(std::string(problem.what()).find("the bucket is gone"), std::string::npos);
  EXPECT_EQ(where->list("run"), (std::vector<std::string>{"checkpoint-000000000002.troupe"}))
    << "nothing of the other one is left";
  objects->problem.clear();
  store.write(some_checkpoint(4));
  EXPECT_EQ(store.latest("a1").newest->version, 4u);
}

TEST_F(blob_stores, behave_as_a_disk_does) {
  const auto number_of = [](const auto& call) {
    try {
      call();
    } catch (const disk_error& error) {
      return error.error_number();
    }
    return 0;
  };
  EXPECT_EQ(number_of([&] { where->open("run/a"); }), ENOENT);
  EXPECT_EQ(number_of([&] { where->remove("run/a"); }), ENOENT);
  EXPECT_EQ(number_of([&] { where->rename("run/a", "run/b"); }), ENOENT);
  const std::vector<std::byte> bytes{std::byte{1}, std::byte{2}};
  where->create("run/a.tmp")->write(1, bytes);
  EXPECT_TRUE(objects->objects.empty()) << "it has no name yet";
  EXPECT_EQ(number_of([&] { where->create("run/a.tmp"); }), EEXIST);
  EXPECT_EQ(where->list("run"), (std::vector<std::string>{"a.tmp"}));
  where->rename("run/a.tmp", "run/a");
  EXPECT_EQ(number_of([&] { where->create("run/a"); }), EEXIST);
  std::vector<std::byte> read(5);
  const auto file = where->open("run/a");
  EXPECT_EQ(file->size(), 3u);
  EXPECT_EQ(file->read(0, read), 3u);
  EXPECT_EQ(read,
            (std::vector{std::byte{0}, std::byte{1}, std::byte{2}, std::byte{0}, std::byte{0}}));
  EXPECT_EQ(file->read(3, read), 0u);
  EXPECT_EQ(file->read(9, read), 0u);
  where->remove("run/a");
  EXPECT_TRUE(objects->objects.empty());
  EXPECT_EQ(file->read(2, std::span{read}.first(1)), 1u) << "whoever has it open goes on with it";
}

} // namespace
} // namespace troupe::blob_store_test
