#include "data/disk/stored_tensor.hpp"

#include "models/base/copy_values.hpp"

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <string>
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

} // namespace troupe
