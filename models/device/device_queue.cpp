#include "models/device/device_queue.hpp"

#include "models/device/opened_device.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

namespace troupe {

namespace {

using opencl::check, opencl::loaded;

/// Addresses are given away in chunks, whose owners stand in a table.
constexpr uintptr_t chunk_bytes = uintptr_t{1} << 28;
constexpr size_t chunk_count = detail::device_address_bytes / chunk_bytes;
/// Items of a work group; of a product, along both extents.
constexpr size_t group_items = 64;
constexpr size_t group_side = 16;

/// For tests: a device that is lost in the middle of a run.
constexpr size_t runs_before_failure = 2000;
bool fails_after_a_while() {
  static const char* const wanted = std::getenv("TROUPE_TEST_BROKEN_DEVICE");
  return wanted != nullptr && std::string_view{wanted} == "lost";
}

std::mutex registry_guard;
size_t next_chunk = 0; ///< where to look for free ones first
std::array<std::atomic<device_queue*>, chunk_count> registry;

/// The first of so many chunks in a row, which are the queue's from now on. Throws device_error when there are none.
size_t take_chunks(size_t count, device_queue* queue) {
  const std::lock_guard lock{registry_guard};
  for (size_t tried = 0; tried < chunk_count;) {
    const auto begin = next_chunk + count > chunk_count ? 0 : next_chunk;
    const auto end = begin + count;
    auto at = begin;
    while (at < std::min(end, chunk_count) && registry[at] == nullptr)
      ++at;
    next_chunk = at < end ? at + 1 : end;
    tried += next_chunk - begin;
    if (at < end || end > chunk_count)
      continue;
    for (at = begin; at < end; ++at)
      registry[at] = queue;
    return begin;
  }
  throw device_error("devices: there are too many buffers at a time for their addresses");
}

} // namespace

device_queue* detail::find_device_queue(uintptr_t offset) noexcept {
  return registry[offset / chunk_bytes].load(std::memory_order_relaxed);
}

struct device_queue::state {
  struct piece {
    uintptr_t end;
    size_t chunks;
    opencl::owned<cl_mem> memory;
  };
  /// Where values lie: a buffer, and floats from its beginning.
  struct location {
    cl_mem memory;
    cl_ulong first;
  };

  state(std::shared_ptr<device> x, device_queue* owner) : where(std::move(x)), self(owner) {}

  std::shared_ptr<device> where;
  device_queue* self;
  opencl::owned<cl_command_queue> queue{nullptr, nullptr};
  std::span<float> staging;
  std::span<float> results;
  size_t run_count = 0;
  std::map<uintptr_t, piece> pieces;
  struct loaded_kernel {
    opencl::owned<cl_kernel> kernel;
    cl_uint argument_count;
  };
  std::map<std::string, loaded_kernel, std::less<>> kernels;

  const std::string& name() const { return where->facts().name; }

  location find(std::span<const float> values) const {
    const auto address = reinterpret_cast<uintptr_t>(values.data());
    const auto behind = pieces.upper_bound(address);
    if (behind == pieces.begin() || address + values.size_bytes() > std::prev(behind)->second.end)
      throw device_error(name() + ": values that are not in its memory");
    const auto& [first, x] = *std::prev(behind);
    return {x.memory.get(), (address - first) / sizeof(float)};
  }

  /// Zeros.
  std::span<float> allocate(size_t size) {
    const auto bytes = std::max<size_t>(size, 1) * sizeof(float);
    const auto words = "a buffer of " + std::to_string(bytes) + " bytes";
    cl_int code = CL_SUCCESS;
    auto memory = opencl::own(
      loaded()->clCreateBuffer(where->context(), CL_MEM_READ_WRITE, bytes, nullptr, &code));
    check(code, name(), words.c_str());
    const cl_float zero = 0;
    check(loaded()->clEnqueueFillBuffer(queue.get(), memory.get(), &zero, sizeof(zero), 0, bytes, 0,
                                        nullptr, nullptr),
          name(), words.c_str());
    const auto chunks = bytes / chunk_bytes + 1; // no buffer begins where another ends
    const auto at = detail::device_addresses + take_chunks(chunks, self) * chunk_bytes;
    pieces.emplace(at, piece{at + bytes, chunks, std::move(memory)});
    return {reinterpret_cast<float*>(at), size};
  }

  /// The beginning of memory of the queue's own, which grows.
  std::span<float> room(std::span<float>& memory, size_t size) {
    if (size > memory.size()) {
      if (!memory.empty())
        release(memory.data());
      memory = {};
      memory = allocate(2 * size);
    }
    return memory.first(size);
  }

  void release(const float* values) {
    const auto found = pieces.find(reinterpret_cast<uintptr_t>(values));
    const auto begin = (found->first - detail::device_addresses) / chunk_bytes;
    const std::lock_guard lock{registry_guard};
    for (size_t i = 0; i < found->second.chunks; ++i)
      registry[begin + i] = nullptr;
    pieces.erase(found);
  }

  const loaded_kernel& kernel(const char* called) {
    if (const auto found = kernels.find(called); found != kernels.end())
      return found->second;
    cl_int code = CL_SUCCESS;
    auto made = opencl::own(loaded()->clCreateKernel(where->program(), called, &code));
    check(code, name(), called);
    cl_uint count = 0;
    check(loaded()->clGetKernelInfo(made.get(), CL_KERNEL_NUM_ARGS, sizeof(count), &count, nullptr),
          name(), called);
    return kernels.emplace(called, loaded_kernel{std::move(made), count}).first->second;
  }

  /// `count`: of items, the first argument of kernels that have one.
  void enqueue(const char* called, std::span<const size_t> all, std::span<const size_t> local,
               const std::optional<cl_ulong>& count,
               std::initializer_list<kernel_argument> arguments) {
    const auto& [kernel, argument_count] = this->kernel(called);
    cl_uint at = 0;
    const auto set = [&, to = kernel.get()](size_t size, const void* value) {
      check(loaded()->clSetKernelArg(to, at++, size, value), name(), called);
    };
    if (count)
      set(sizeof(*count), &*count);
    for (const auto& x : arguments) {
      if (!x.is_memory()) {
        set(x.bytes().size(), x.bytes().data());
        continue;
      }
      const auto place = find(x.values());
      set(sizeof(place.memory), &place.memory);
      set(sizeof(place.first), &place.first);
    }
    if (at != argument_count) // OpenCL takes those of the last call for what is missing
      check(CL_INVALID_KERNEL_ARGS, name(), called);
    check(loaded()->clEnqueueNDRangeKernel(queue.get(), kernel.get(),
                                           static_cast<cl_uint>(all.size()), nullptr, all.data(),
                                           local.data(), 0, nullptr, nullptr),
          name(), called);
  }
};

device_queue::device_queue(std::shared_ptr<device> where)
  : state_(std::make_unique<state>(std::move(where), this)) {
  cl_int code = CL_SUCCESS;
  const auto& x = *state_->where;
  state_->queue = opencl::own(loaded()->clCreateCommandQueue(x.context(), x.id(), 0, &code));
  check(code, x.facts().name, "a queue");
}

std::shared_ptr<device_queue> device_queue::make(std::shared_ptr<device> where) {
  return std::shared_ptr<device_queue>(new device_queue(std::move(where)));
}

device_queue::~device_queue() {
  for (const auto* memory : {&state_->staging, &state_->results})
    if (!memory->empty())
      state_->release(memory->data());
}

const device_facts& device_queue::facts() const {
  return state_->where->facts();
}

size_t device_queue::product_side() const {
  return group_side * state_->where->product_values();
}

buffer device_queue::make_buffer(size_t size) {
  const auto values = state_->allocate(size);
  return buffer::lent(values, {values.data(), [owner = shared_from_this()](const float* x) {
                                 owner->state_->release(x);
                               }});
}

std::span<const float> device_queue::staged(std::span<const float> values) {
  const auto place = state_->room(state_->staging, values.size());
  upload(values, place);
  return place;
}

std::span<float> device_queue::result_room(size_t size) {
  return state_->room(state_->results, size);
}

void device_queue::run(const char* name, size_t items,
                       std::initializer_list<kernel_argument> arguments) {
  if (items == 0)
    return;
  if (fails_after_a_while() && ++state_->run_count > runs_before_failure)
    check(CL_DEVICE_NOT_AVAILABLE, facts().name, name);
  const std::array all{(items + group_items - 1) / group_items * group_items};
  state_->enqueue(name, all, std::array{group_items}, items, arguments);
}

void device_queue::run_groups(const char* name, std::array<size_t, 3> groups,
                              std::initializer_list<kernel_argument> arguments) {
  constexpr std::array<size_t, 3> local{group_side, group_side, 1};
  const std::array<size_t, 3> all{groups[0] * group_side, groups[1] * group_side, groups[2]};
  if (all[0] * all[1] * all[2] == 0)
    return;
  state_->enqueue(name, all, local, std::nullopt, arguments);
}

void device_queue::upload(std::span<const float> from, std::span<float> to) {
  if (from.size() != to.size())
    throw device_error(facts().name + ": values that do not fit their place");
  if (from.empty())
    return;
  const auto place = state_->find(to);
  check(loaded()->clEnqueueWriteBuffer(state_->queue.get(), place.memory, CL_TRUE,
                                       place.first * sizeof(float), from.size_bytes(), from.data(),
                                       0, nullptr, nullptr),
        facts().name, "writing to its memory");
}

void device_queue::download(std::span<const float> from, std::span<float> to) {
  if (from.size() != to.size())
    throw device_error(facts().name + ": values that do not fit their place");
  if (from.empty())
    return;
  const auto place = state_->find(from);
  check(loaded()->clEnqueueReadBuffer(state_->queue.get(), place.memory, CL_TRUE,
                                      place.first * sizeof(float), from.size_bytes(), to.data(), 0,
                                      nullptr, nullptr),
        facts().name, "reading its memory");
}

} // namespace troupe
