#include "troupe/actors/director/checkpoint_writer.hpp"

#include "troupe/actors/protocol/write_messages.hpp"

namespace troupe {

namespace {

template <class Function>
write_outcome outcome_of(const Function& write) {
  try {
    write();
  } catch (const failure& problem) {
    return {problem};
  }
  return {};
}

} // namespace

checkpoint_writer_actor::behavior_type
checkpoint_writer(self_pointer<checkpoint_writer_actor, checkpoint_writer_state> self,
                  const std::shared_ptr<checkpoint_store>& store) {
  guard(self);
  return {
    [store](const checkpoint_order& order) {
      return outcome_of([&] { store->write(*order.what); });
    },
    [store](const term_order& order) { return outcome_of([&] { store->write_term(order.term); }); },
  };
}

} // namespace troupe
