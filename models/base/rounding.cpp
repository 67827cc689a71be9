#include "models/base/rounding.hpp"

#include <cfenv>
#include <cfloat>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace troupe {

namespace {

static_assert(FLT_EVAL_METHOD == 0, "sums and products are rounded to their type at once");

#if defined(__x86_64__)

// All exceptions masked, nearest, neither FTZ nor DAZ.
constexpr unsigned long default_control = 0x1f80;

unsigned long control() {
  return _mm_getcsr();
}

void set_control(unsigned long value) {
  _mm_setcsr(static_cast<unsigned>(value));
}

#elif defined(__aarch64__)

// Nearest; subnormal numbers are kept (neither FZ nor FIZ), NaN are passed on.
constexpr unsigned long default_control = 0;

unsigned long control() {
  unsigned long result;
  __asm__ volatile("mrs %0, fpcr" : "=r"(result));
  return result;
}

void set_control(unsigned long value) {
  __asm__ volatile("msr fpcr, %0" : : "r"(value));
}

#else
#error "say here how this processor is made to keep subnormal numbers"
#endif

} // namespace

// The direction first: it is also that of the C library, which prints and reads numbers by it.
default_rounding::default_rounding() : control_before_(control()), direction_before_(fegetround()) {
  if (direction_before_ != FE_TONEAREST)
    fesetround(FE_TONEAREST);
  if (control_before_ != default_control)
    set_control(default_control);
}

default_rounding::~default_rounding() {
  if (direction_before_ != FE_TONEAREST)
    fesetround(direction_before_);
  set_control(control_before_);
}

} // namespace troupe
