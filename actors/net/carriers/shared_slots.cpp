#include "actors/net/carriers/shared_slots.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <utility>

namespace troupe {

namespace {

constexpr size_t page_bytes = 4096;
constexpr size_t slot_bytes = piece_elements_max * sizeof(float);
constexpr size_t table_bytes =
  (slot_count * sizeof(uint32_t) + page_bytes - 1) / page_bytes * page_bytes;
constexpr size_t memory_bytes = table_bytes + slot_count * slot_bytes;
constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW;

static_assert(std::atomic<uint32_t>::is_always_lock_free);

std::byte* mapped(int descriptor, int protection) {
  void* place = ::mmap(nullptr, memory_bytes, protection, MAP_SHARED, descriptor, 0);
  return place == MAP_FAILED ? nullptr : static_cast<std::byte*>(place);
}

} // namespace

slot_memory::slot_memory(slot_memory&& other) noexcept
  : bytes_(std::exchange(other.bytes_, nullptr)) {}

slot_memory& slot_memory::operator=(slot_memory&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

slot_memory::~slot_memory() {
  if (bytes_)
    ::munmap(bytes_, memory_bytes);
}

slot_memory slot_memory::make(owned_socket& descriptor) {
  descriptor = owned_socket{::memfd_create("troupe", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  if (!descriptor || ::ftruncate(descriptor.get(), static_cast<off_t>(memory_bytes)) != 0)
    return {};
  slot_memory result{mapped(descriptor.get(), PROT_READ | PROT_WRITE)};
  // The existing mapping stays writable; no process can make another writable one.
  ::fcntl(descriptor.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE);
  if (::fcntl(descriptor.get(), F_ADD_SEALS, seals | F_SEAL_SEAL) != 0)
    return {};
  return result;
}

slot_memory slot_memory::map(const owned_socket& descriptor) {
  struct stat facts {};
  if (!descriptor || ::fstat(descriptor.get(), &facts) != 0 ||
      static_cast<size_t>(facts.st_size) != memory_bytes)
    return {};
  const int kept = ::fcntl(descriptor.get(), F_GET_SEALS);
  if (kept < 0 || (kept & seals) != seals)
    return {};
  return slot_memory{mapped(descriptor.get(), PROT_READ)};
}

std::atomic<uint32_t>& slot_memory::turn_done(size_t slot) const {
  return reinterpret_cast<std::atomic<uint32_t>*>(bytes_)[slot];
}

float* slot_memory::values_of(size_t slot) const {
  return reinterpret_cast<float*>(bytes_ + table_bytes + slot * slot_bytes);
}

shared_slots::shared_slots(slot_memory mine, slot_memory theirs)
  : mine_(std::move(mine)), theirs_(std::move(theirs)) {}

std::optional<slot_place> shared_slots::put(std::span<const float> values) {
  if (!*this || values.size() > piece_elements_max)
    return std::nullopt;
  for (uint32_t slot = 0; slot < slot_count; ++slot)
    if (theirs_.turn_done(slot).load(std::memory_order_acquire) == turns_[slot]) {
      std::memcpy(mine_.values_of(slot), values.data(), values.size_bytes());
      return slot_place{slot, ++turns_[slot]};
    }
  return std::nullopt;
}

std::span<const float> shared_slots::look(const slot_place& place, size_t count) const {
  if (!*this || place.slot >= slot_count || count > piece_elements_max)
    return {};
  return {theirs_.values_of(place.slot), count};
}

void shared_slots::done(const slot_place& place) {
  if (*this && place.slot < slot_count)
    mine_.turn_done(place.slot).store(place.turn, std::memory_order_release);
}

} // namespace troupe
