// A chain of segments that devices compute, for actors that share a model: what they read and write is the
// processor's, as rows of other actors come and go there. Each call sends what it reads and waits for what it makes.

#pragma once

#include "models/device/device_place.hpp"
#include "models/segments/segment_chain.hpp"

#include <memory>

namespace troupe {

class device_chain final : public segment_chain {
public:
  /// `does` and `places` outlive it.
  device_chain(const segment_chain& does, const device_places& places)
    : segment_chain(does), does_(does), places_(places) {}

  std::vector<size_t> layer_widths() const override { return does_.layer_widths(); }
  std::vector<layer_cut> cuts_of(size_t k) const override { return does_.cuts_of(k); }
  uint64_t multiply_adds(size_t k, const index_range& parts) const override {
    return does_.multiply_adds(k, parts);
  }
  uint64_t memory_floats(const index_range& some, size_t rows, size_t derived) const override {
    return does_.memory_floats(some, rows, derived);
  }
  std::optional<size_t> smallest_part() const override { return does_.smallest_part(); }

  std::span<float> output(size_t k, const batch& rows, workspace& memory) const override {
    return does_.output(k, rows, memory);
  }
  std::span<float> output(size_t k, size_t t, const batch& rows, workspace& memory) const override {
    return does_.output(k, t, rows, memory);
  }
  std::span<float> delta(size_t k, const batch& rows, workspace& memory) const override {
    return does_.delta(k, rows, memory);
  }
  std::span<float> delta(size_t k, size_t t, const batch& rows, workspace& memory) const override {
    return does_.delta(k, t, rows, memory);
  }
  index_range score_units(size_t t) const override { return does_.score_units(t); }
  std::span<const float> whole_scores(const batch& rows, workspace& memory) const override {
    return does_.whole_scores(rows, memory);
  }

  void enter(size_t k, const batch& rows, bool drops, workspace& memory) const override;
  void forward(size_t k, size_t t, const windowed_values& parameters, const batch& rows, bool drops,
               workspace& memory, std::span<float> out) const override;
  void finish(size_t k, size_t first_row, const windowed_values& parameters, const batch& rows,
              workspace& memory, std::span<float> values) const override;
  void backward(size_t k, size_t t, const windowed_values& parameters, const batch& rows,
                workspace& memory, std::span<float> out) const override;
  void derive(size_t k, size_t first_row, const batch& rows, workspace& memory,
              std::span<float> values) const override;
  void gradient(size_t k, size_t t, const batch& rows, workspace& memory,
                std::span<float> out) const override;

private:
  size_t own_slot_count() const override { return does_.slot_count(); }

  const segment_chain& does_;
  const device_places& places_;
};

} // namespace troupe
