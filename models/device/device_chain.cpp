#include "models/device/device_chain.hpp"

namespace troupe {

namespace {

/// A tile's parameters on the device, as the chain finds them.
class sent_tile {
public:
  sent_tile(device_place& here, const windowed_values& parameters, const index_range& tile)
    : window_({tile}),
      values_(
        tile.empty()
          ? windowed_values{}
          : windowed_values{here.sent(device_place::sent_tile, parameters.at(tile)), &window_}) {}

  const windowed_values& values() const { return values_; }

private:
  element_window window_;
  windowed_values values_;
};

} // namespace

// The rows behind the segment before were made or received by the processor.
void device_chain::enter(size_t k, const batch& rows, bool drops, workspace& memory) const {
  auto& here = places_.of(memory);
  const auto there = here.sent(rows);
  if (k > 0)
    here.queue().upload(does_.output(k - 1, rows, memory),
                        does_.output(k - 1, there, here.memory()));
  does_.enter(k, there, drops, here.memory());
}

void device_chain::forward(size_t k, size_t t, const windowed_values& parameters, const batch& rows,
                           bool drops, workspace& memory, std::span<float> out) const {
  auto& here = places_.of(memory);
  const sent_tile sent{here, parameters, tile(k, t)};
  const auto result = here.room(device_place::made, out.size());
  does_.forward(k, t, sent.values(), here.sent(rows), drops, here.memory(), result);
  here.queue().download(result, out);
}

void device_chain::finish(size_t k, size_t first_row, const windowed_values& parameters,
                          const batch& rows, workspace& memory, std::span<float> values) const {
  auto& here = places_.of(memory);
  const sent_tile sent{here, parameters, tile(k, part_count())};
  const auto result = here.sent(device_place::made, values);
  does_.finish(k, first_row, sent.values(), here.sent(rows), here.memory(), result);
  here.queue().download(result, values);
}

void device_chain::backward(size_t k, size_t t, const windowed_values& parameters,
                            const batch& rows, workspace& memory, std::span<float> out) const {
  auto& here = places_.of(memory);
  const auto there = here.sent(rows);
  const sent_tile sent{here, parameters, tile(k, t)};
  here.queue().upload(does_.output(k, rows, memory), does_.output(k, there, here.memory()));
  here.queue().upload(does_.delta(k, rows, memory), does_.delta(k, there, here.memory()));
  const auto result = here.room(device_place::made, out.size());
  does_.backward(k, t, sent.values(), there, here.memory(), out.empty() ? out : result);
  here.queue().download(result, out);
}

void device_chain::derive(size_t k, size_t first_row, const batch& rows, workspace& memory,
                          std::span<float> values) const {
  auto& here = places_.of(memory);
  const auto result = here.sent(device_place::made, values);
  does_.derive(k, first_row, here.sent(rows), here.memory(), result);
  here.queue().download(result, values);
}

void device_chain::gradient(size_t k, size_t t, const batch& rows, workspace& memory,
                            std::span<float> out) const {
  auto& here = places_.of(memory);
  const auto result = here.room(device_place::made, out.size());
  does_.gradient(k, t, here.sent(rows), here.memory(), result);
  here.queue().download(result, out);
}

} // namespace troupe
