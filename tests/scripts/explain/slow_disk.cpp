// A disk that does not answer, to be preloaded: fsync waits as long as the file that TROUPE_TEST_DISK names is
// there. Nothing that a machine of tests has does so on demand.

#include <cstdlib>

#include <sys/syscall.h>
#include <unistd.h>

extern "C" int fsync(int fd) {
  const char* path = std::getenv("TROUPE_TEST_DISK");
  while (path != nullptr && access(path, F_OK) == 0)
    usleep(5000);
  return static_cast<int>(syscall(SYS_fsync, fd));
}
