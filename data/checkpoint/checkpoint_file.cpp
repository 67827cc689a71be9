#include "data/checkpoint/checkpoint_file.hpp"

#include "data/checkpoint/checkpoint_layout.hpp"
#include "data/model_file/tensor_file.hpp"
#include "data/text/failure.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

namespace troupe {

namespace {

using namespace checkpoint_format;

constexpr const char* damage_hint = "the file is damaged; an earlier checkpoint may be whole";

constexpr std::array<std::string_view, 2> dtypes{"F32", "U8"};

/// What files of formats 1 and 2 begin with, which were no safetensors.
constexpr std::string_view former_start = "TROUPECP";

std::unique_ptr<disk_reader> opened(const disk& from, const std::string& path) {
  auto file = open_to_read(from, path);
  std::string start(former_start.size(), '\0');
  if (read_at(*file, path, 0, std::as_writable_bytes(std::span{start})) && start == former_start)
    throw failure(failure_code::bad_data,
                  "it is a checkpoint of an earlier release (format 1 or 2), and this one reads " +
                    std::string{format_name} + ": finish the run with the release that began it",
                  path, "or begin again with --overwrite");
  return file;
}

/// A file of which everything but the tensors is checked, and nothing interpreted.
struct checked_start {
  checked_start(const disk& from, const std::string& path)
    : file(opened(from, path), path, dtypes, damage_hint) {
    if (const auto format = file.metadata("format"); format != format_name)
      file.refuse(format.starts_with("troupe-checkpoint-")
                    ? "its format is " + format + "; this program reads " + std::string{format_name}
                    : "it is no checkpoint: its metadata do not name the format " +
                        std::string{format_name});
    shape.parameter_count = file.tensor("parameters", {"F32"}, 1).shape[0];
    if (file.has("optimizer_slots"))
      shape.slot_count = file.tensor("optimizer_slots", {"F32"}, 2).shape[0];
    shape.has_best_parameters = file.has("best_parameters");
    texts = {file.metadata("job_sha256"), file.text("record"), file.text("history.csv")};
    table = file.text("chunk_checksums", 3);
    // Slots of no bytes could be any number.
    if (shape.slot_count > file.size() || file.front() != front_of(shape, texts))
      file.refuse("its header is not that of a checkpoint with these tensors");
    const auto end_begin = file.tensor("chunk_checksums", {"U8"}, 3).data_offsets[0];
    if (!end_of(file.front(), table, texts).ends_with(file.text("checksum")))
      file.refuse("the checksum of bytes 0 to " + std::to_string(start_bytes) + " and " +
                  std::to_string(end_begin) + " to " + std::to_string(file.size()) + " is wrong");
  }

  tensor_file file;
  checkpoint_shape shape;
  checkpoint_texts texts;
  std::string table; ///< checksums of the chunks
};

} // namespace

std::string job_of_checkpoint(const disk& from, const std::string& path) {
  return checked_start(from, path).texts.job_sha256;
}

struct checkpoint_file::state : checked_start {
  state(const disk& from, const std::string& path)
    : checked_start(from, path), head(head_of(texts, path)) {
    texts = {};
  }

  /// Elements [first, first + out.size()) of the tensor with this number.
  void read_tensor(uint64_t tensor, uint64_t first, std::span<float> out) const {
    if (first > shape.parameter_count || out.size() > shape.parameter_count - first)
      throw std::out_of_range("checkpoint: elements " + std::to_string(first) + " to " +
                              std::to_string(first + out.size()) + " of " +
                              std::to_string(shape.parameter_count));
    while (!out.empty()) {
      const auto chunk = first / chunk_elements;
      const auto skipped = first % chunk_elements;
      const auto size =
        std::min<uint64_t>(chunk_elements, shape.parameter_count - chunk * chunk_elements);
      const auto piece = out.first(std::min<uint64_t>(size - skipped, out.size()));
      if (piece.size() == size)
        read_chunk(tensor, chunk, piece);
      else
        read_part(tensor, chunk, skipped, size, piece);
      first += piece.size();
      out = out.subspan(piece.size());
    }
  }

  // Who reads a tensor piece by piece wants the same chunk several times.
  void read_part(uint64_t tensor, uint64_t chunk, size_t skipped, size_t size,
                 std::span<float> out) const {
    const std::lock_guard lock{mutex};
    const std::pair wanted{tensor, chunk};
    if (in_scratch != wanted) {
      in_scratch.reset();
      scratch.resize(size);
      read_chunk(tensor, chunk, scratch);
      in_scratch = wanted;
    }
    std::copy_n(scratch.begin() + static_cast<std::ptrdiff_t>(skipped), out.size(), out.begin());
  }

  void read_chunk(uint64_t tensor, uint64_t chunk, std::span<float> out) const {
    const auto offset = place_of(shape.parameter_count, tensor, chunk * chunk_elements);
    const auto expected =
      std::as_bytes(std::span{table})
        .subspan((tensor * chunk_count_of_tensor(shape) + chunk) * sizeof(checksum_bytes),
                 sizeof(checksum_bytes));
    file.read(offset, std::as_writable_bytes(out));
    if (!std::ranges::equal(checksum_of(std::as_bytes(out)), expected))
      file.refuse("the checksum of bytes " + std::to_string(offset) + " to " +
                  std::to_string(offset + out.size_bytes()) + " (" + name_of_tensor(tensor) +
                  ") is wrong");
  }

  void verify() const {
    std::vector<float> chunk(std::min<uint64_t>(chunk_elements, shape.parameter_count));
    for (uint64_t tensor = 0; tensor < shape.tensor_count(); ++tensor)
      for (uint64_t first = 0; first < shape.parameter_count; first += chunk_elements)
        read_tensor(tensor, first,
                    std::span(chunk).first(
                      std::min<uint64_t>(chunk_elements, shape.parameter_count - first)));
  }

  std::string name_of_tensor(uint64_t tensor) const {
    if (tensor == 0)
      return "parameters";
    return tensor <= shape.slot_count ? "optimizer slot " + std::to_string(tensor - 1)
                                      : "best parameters";
  }

  checkpoint head;
  mutable std::mutex mutex;           ///< of what follows
  mutable std::vector<float> scratch; ///< a chunk of which only a part is wanted
  mutable std::optional<std::pair<uint64_t, uint64_t>> in_scratch; ///< its tensor and number
};

namespace {

/// One tensor of an open file.
template <class State>
class tensor_in_file : public tensor_reader {
public:
  tensor_in_file(std::shared_ptr<const State> file, uint64_t tensor)
    : file_(std::move(file)), tensor_(tensor) {}

  size_t size() const noexcept override { return file_->shape.parameter_count; }
  void read(size_t first, std::span<float> out) const override {
    file_->read_tensor(tensor_, first, out);
  }

private:
  std::shared_ptr<const State> file_;
  uint64_t tensor_;
};

} // namespace

checkpoint_file::checkpoint_file(const disk& from, const std::string& path)
  : state_(std::make_shared<const state>(from, path)) {}

const checkpoint& checkpoint_file::head() const noexcept {
  return state_->head;
}

size_t checkpoint_file::parameter_count() const noexcept {
  return state_->shape.parameter_count;
}

size_t checkpoint_file::slot_count() const noexcept {
  return state_->shape.slot_count;
}

bool checkpoint_file::has_best_parameters() const noexcept {
  return state_->shape.has_best_parameters;
}

checkpoint checkpoint_file::contents() const {
  const auto tensor = [this](uint64_t number) {
    return stored_tensor{std::make_shared<const tensor_in_file<state>>(state_, number)};
  };
  auto result = head();
  result.parameters = tensor(0);
  for (uint64_t slot = 0; slot < slot_count(); ++slot)
    result.slots.push_back(tensor(1 + slot));
  if (has_best_parameters())
    result.best_parameters = tensor(1 + slot_count());
  return result;
}

void checkpoint_file::verify() const {
  state_->verify();
}

checkpoint checkpoint_file::read() const {
  auto result = contents();
  result.parameters = result.parameters.whole();
  for (auto& slot : result.slots)
    slot = slot.whole();
  if (result.best_parameters)
    result.best_parameters = result.best_parameters.whole();
  return result;
}

} // namespace troupe
