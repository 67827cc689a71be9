#include "troupe/app/run/numerics_choice.hpp"

#include "troupe/data/text/failure.hpp"
#include "troupe/models/math/blas.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <strings.h>
#include <unistd.h>

namespace troupe {

std::string core_type_for(const std::string& numerics) {
  if (numerics == "native")
    return {};
  if (numerics == "x86-64-v2")
    return "Nehalem";
  if (numerics == "x86-64-v3")
    return "Haswell";
  return numerics == "x86-64-v4" ? "SkylakeX" : numerics;
}

void ensure_numerics(const std::string& numerics, char** process_arguments) {
  const std::string wanted = core_type_for(numerics);
  if (wanted.empty())
    return;
  const char* present = std::getenv("OPENBLAS_CORETYPE");
  if (!present || wanted != present) {
    setenv("OPENBLAS_CORETYPE", wanted.c_str(), 1);
    execv("/proc/self/exe", process_arguments);
    throw failure(failure_code::internal,
                  std::string{"cannot start this program again: "} + std::strerror(errno),
                  "runtime.numerics",
                  "set OPENBLAS_CORETYPE=" + wanted + " in the environment yourself");
  }
  // OpenBLAS ignores a name it does not know and core types this processor lacks.
  if (const std::string core = blas::core_name(); strcasecmp(core.c_str(), wanted.c_str()) != 0)
    throw failure(failure_code::mismatch,
                  "OpenBLAS computes as '" + core + "' here, not as '" + wanted + "'",
                  "runtime.numerics", "choose a core type that every machine of the job has");
}

} // namespace troupe
