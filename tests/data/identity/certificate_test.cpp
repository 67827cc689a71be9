#include "tests/support/certificates.hpp"

#include "data/disk/open_file.hpp"
#include "data/text/failure.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/process_limits.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>

namespace troupe::certificate_test {
namespace {

using test::hours_around_now;

template <class Call>
failure_code code_of(Call call) {
  return test::failure_of([&] { call(); }, "").code();
}

TEST(certificate, says_what_it_was_issued_for) {
  const auto authority = make_authority("mine", hours_around_now(-1, 100));
  const auto time = hours_around_now(-1, 10);
  const auto node = issue_certificate(authority, "left-1", time);
  const auto facts = read_certificate(node.certificate, "here");
  EXPECT_EQ(facts.names, std::vector<std::string>{"left-1"});
  EXPECT_EQ(facts.subject, "left-1");
  EXPECT_EQ(facts.issuer, "mine");
  EXPECT_EQ(facts.time, time);
  EXPECT_FALSE(facts.is_authority);
  const auto of_authority = read_certificate(authority.certificate, "here");
  EXPECT_TRUE(of_authority.is_authority);
  EXPECT_TRUE(of_authority.names.empty());
}

TEST(certificate, is_known_by_its_key_and_its_authority) {
  const auto mine = make_authority("mine", hours_around_now(-1, 1));
  const auto other = make_authority("mine", hours_around_now(-1, 1)); // of the same name
  const auto a = issue_certificate(mine, "a", hours_around_now(-1, 1));
  const auto b = issue_certificate(mine, "b", hours_around_now(-1, 1));
  EXPECT_TRUE(is_key_of(a, "here"));
  EXPECT_FALSE(is_key_of({a.certificate, b.key}, "here"));
  EXPECT_TRUE(is_signed_by(mine.certificate, a.certificate, "here"));
  EXPECT_FALSE(is_signed_by(other.certificate, a.certificate, "here"));
}

TEST(certificate, only_an_authority_with_its_own_key_issues) {
  const auto mine = make_authority("mine", hours_around_now(-1, 1));
  const auto other = make_authority("other", hours_around_now(-1, 1));
  const auto node = issue_certificate(mine, "a", hours_around_now(-1, 1));
  const auto time = hours_around_now(-1, 1);
  EXPECT_EQ(code_of([&] { issue_certificate(node, "b", time); }), failure_code::bad_data);
  EXPECT_EQ(code_of([&] {
              issue_certificate({mine.certificate, other.key}, "b", time);
            }),
            failure_code::bad_data);
  EXPECT_EQ(code_of([&] { issue_certificate({"", ""}, "b", time); }), failure_code::bad_data);
}

TEST(certificate, a_name_is_one_name) {
  const auto mine = make_authority("mine", hours_around_now(-1, 1));
  for (const std::string name : {"", "a,DNS:b", "A", "*", "-a", "a b"})
    EXPECT_EQ(code_of([&] { issue_certificate(mine, name, hours_around_now(-1, 1)); }),
              failure_code::usage)
      << name;
  EXPECT_EQ(code_of([&] { make_authority("a\nb", hours_around_now(-1, 1)); }), failure_code::usage);
}

TEST(certificate, what_is_none_is_named) {
  for (const std::string text :
       {"", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"})
    EXPECT_EQ(code_of([&] { read_certificate(text, "here"); }), failure_code::bad_data);
}

TEST(secret_file, a_key_that_others_can_read_is_refused) {
  const temporary_folder folder;
  const auto path = folder.path("a.key");
  write_file_atomically(path, "one", {mode_for_owner, false});
  EXPECT_EQ(read_secret_file(path), "one");
  for (const mode_t mode : {0640, 0604, 0620, 0601}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    EXPECT_EQ(code_of([&] { read_secret_file(path); }), failure_code::no_permission) << mode;
  }
  EXPECT_EQ(read_small_file(path), "one");
}

TEST(secret_file, what_cannot_be_read_is_named) {
  const temporary_folder folder;
  EXPECT_EQ(code_of([&] { read_small_file(folder.path("none")); }), failure_code::missing_input);
  EXPECT_EQ(code_of([&] { read_small_file(folder.write("big", std::string(2 << 20, 'x'))); }),
            failure_code::bad_data);
  write_file_atomically(folder.path("a.key"), "one", {mode_for_owner, false});
  ASSERT_EQ(::chmod(folder.path("a.key").c_str(), 0), 0);
  const unprivileged nobody;
  EXPECT_EQ(code_of([&] { read_secret_file(folder.path("a.key")); }), failure_code::no_permission);
}

} // namespace
} // namespace troupe::certificate_test
