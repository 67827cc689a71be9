#include "data/disk/stored_tensor.hpp"

#include "data/disk/open_file.hpp"
#include "models/base/copy_values.hpp"

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace troupe {

struct stored_tensor::in_file {
  explicit in_file(std::shared_ptr<const tensor_reader> from) : source(std::move(from)) {}

  std::shared_ptr<const tensor_reader> source;
  mutable std::once_flag is_loaded;
  mutable const_buffer loaded;
};

stored_tensor::stored_tensor(std::shared_ptr<const tensor_reader> file)
  : file_(std::make_shared<const in_file>(std::move(file))) {}

size_t stored_tensor::size() const noexcept {
  return file_ ? file_->source->size() : memory_.size();
}

void stored_tensor::read(size_t first, std::span<float> out) const {
  if (file_)
    return file_->source->read(first, out);
  if (first > memory_.size() || out.size() > memory_.size() - first)
    throw std::out_of_range("stored_tensor: values " + std::to_string(first) + " to " +
                            std::to_string(first + out.size()) + " of " +
                            std::to_string(memory_.size()));
  copy_values(memory_.values().subspan(first, out.size()), out.begin());
}

const const_buffer& stored_tensor::whole() const {
  if (!file_)
    return memory_;
  std::call_once(file_->is_loaded, [this] {
    const buffer all{file_->source->size()};
    file_->source->read(0, all.values());
    file_->loaded = all;
  });
  return file_->loaded;
}

namespace {

std::string next_name(const std::string& folder) {
  static std::atomic<uint64_t> counter{0};
  return folder + "/" + std::string{scratch_name_start} + std::to_string(::getpid()) + "-" +
         std::to_string(counter++) + ".tmp";
}

} // namespace

template <class Action>
void scratch_tensor::told(const Action& action) const {
  try {
    action();
  } catch (const disk_error& error) {
    throw writing_failure({"cannot " + error.operation(), folder_, error.error_number()},
                          {size_ * sizeof(float), disk_->bytes_available(folder_)});
  }
}

void scratch_tensor::open() {
  if (out_)
    return;
  const auto name = next_name(folder_);
  out_ = disk_->create(name);
  in_ = disk_->open(name);
  disk_->remove(name);
}

void scratch_tensor::require_within(size_t first, size_t count) const {
  if (first > size_ || count > size_ - first)
    throw std::out_of_range("scratch_tensor: values " + std::to_string(first) + " to " +
                            std::to_string(first + count) + " of " + std::to_string(size_));
}

void scratch_tensor::reserve() {
  told([this] {
    open();
    out_->reserve(size_ * sizeof(float));
  });
}

void scratch_tensor::write(size_t first, std::span<const float> values) {
  require_within(first, values.size());
  try {
    told([&] {
      open();
      out_->write(first * sizeof(float), std::as_bytes(values));
    });
  } catch (const failure&) {
    has_hole_ = true;
    throw;
  }
}

void scratch_tensor::read(size_t first, std::span<float> out) const {
  require_within(first, out.size());
  if (has_hole_)
    throw failure(failure_code::io_error, "what was to be kept could not be written", folder_);
  const auto bytes = std::as_writable_bytes(out);
  try {
    if (in_ && in_->read(first * sizeof(float), bytes) == bytes.size())
      return;
  } catch (const disk_error& error) {
    throw reading_failure({"cannot " + error.operation(), folder_, error.error_number()});
  }
  if (!out.empty())
    throw failure(failure_code::internal, "a scratch tensor is read that is not whole", folder_,
                  "please report this");
}

scratch_pool::scratch_pool(std::shared_ptr<disk> where, std::string folder, size_t size,
                           size_t reserved)
  : disk_(std::move(where)), folder_(std::move(folder)), size_(size) {
  for (size_t i = 0; i < reserved; ++i) {
    all_.push_back(std::make_shared<scratch_tensor>(disk_, folder_, size_));
    all_.back()->reserve();
  }
}

// Others only let go: who is the only one to have it stays that.
std::shared_ptr<scratch_tensor> scratch_pool::acquire() {
  const auto free =
    std::ranges::find_if(all_, [](const auto& one) { return one.use_count() == 1; });
  if (free != all_.end())
    return *free;
  return all_.emplace_back(std::make_shared<scratch_tensor>(disk_, folder_, size_));
}

} // namespace troupe
