// Cluster files. One may name a job file to be read as well, as nothing but a path: here the words
// "job =" are left out, so that the search reads no files of this machine.

#include "app/cluster/cluster_file.hpp"
#include "tests/fuzz/hostile.hpp"

using namespace troupe;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const fuzz::hostile_file file;
  const auto text = fuzz::text_of(bytes, size);
  if (text.find("job") != text.npos || text.find("\\u") != text.npos ||
      text.find("\\U") != text.npos)
    return 0;
  const auto& path = file.holding(text);
  fuzz::expect_result_or_failure([&] { is_cluster_file(path); });
  fuzz::expect_result_or_failure([&] {
    const auto x = load_cluster(path, {}, {});
    fuzz::require(director_of(x.plan) < x.plan.nodes.size(), "a cluster has a director");
    fuzz::require(!x.tls || x.tls->credentials.size() == x.plan.nodes.size(),
                  "every node has credentials");
  });
  return 0;
}
