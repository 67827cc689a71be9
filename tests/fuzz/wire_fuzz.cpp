// Messages between processes, as the actor system hands their bytes to `inspect`: the first byte
// picks the type. What was read can be written again. There is no actor system behind it: a message
// with handles of actors is read up to the first of them.

#include "tests/fuzz/hostile.hpp"
#include "tests/fuzz/wire_types.hpp"

#include <caf/binary_deserializer.hpp>
#include <caf/binary_serializer.hpp>

#include <vector>

using namespace troupe;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size == 0)
    return 0;
  fuzz::with_message(bytes[0] % fuzz::wire_type_count, [&](auto message) {
    caf::binary_deserializer source{nullptr, reinterpret_cast<const char*>(bytes) + 1, size - 1};
    if (source(message))
      return;
    std::vector<char> written;
    caf::binary_serializer sink{nullptr, written};
    fuzz::require(!sink(message), "what was read can be written");
  });
  return 0;
}
