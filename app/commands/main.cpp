// The troupe command.

#include "troupe/app/commands/run_command.hpp"

#include <cstdlib>

#include <sys/resource.h>
#include <unistd.h>

namespace {

// When OpenBLAS is loaded it starts a thread for every core but one, each with 64 MiB of scratch, and none
// of them ever computes here (models/math/blas.hpp). Where address space is limited (`ulimit -v`) they
// may ask for it for ever, and the command would never end: it starts again without them.
void start_without_blas_threads(char** arguments) {
  constexpr const char* count = "OPENBLAS_NUM_THREADS";
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && !std::getenv(count) &&
      setenv(count, "1", 0) == 0)
    execv("/proc/self/exe", arguments); // if it cannot, this process goes on
}

} // namespace

int main(int argc, char** argv) {
  start_without_blas_threads(argv);
  return troupe::run_command(argc, argv);
}
