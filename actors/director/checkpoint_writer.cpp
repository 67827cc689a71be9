#include "actors/director/checkpoint_writer.hpp"

namespace troupe {

namespace {

template <class Function>
write_outcome outcome_of(const Function& act) {
  write_outcome result;
  try {
    act(result);
  } catch (const failure& problem) {
    result.problem = problem;
  }
  return result;
}

void write(checkpoint_store* store, const range_order& order) {
  if (order.scratch)
    order.scratch->write(order.where.first_element, order.values.values());
  else
    store->write_range(order.where, order.values.values());
}

float_view read(const read_order& order) {
  const buffer values{order.elements.size()};
  order.from.read(order.elements.begin, values.values());
  return {values, 0, values.size()};
}

} // namespace

checkpoint_writer_actor::behavior_type
checkpoint_writer(self_pointer<checkpoint_writer_actor, checkpoint_writer_state> self,
                  const checkpoint_writer_options& options) {
  guard(self);
  const auto& [store, trace] = options;
  return {
    [store = store, trace = trace](const range_order& order) {
      const traced_work work{trace.get(), trace_kind::write, order.where.version, 0};
      return outcome_of([&](write_outcome&) { write(store.get(), order); });
    },
    [store = store, trace = trace](const checkpoint_order& order) {
      const traced_work work{trace.get(), trace_kind::finish, order.what->version, 0};
      return outcome_of([&](write_outcome& result) {
        result.saved = std::make_shared<const checkpoint>(store->finish(*order.what).contents());
      });
    },
    [store = store](const drop_order& order) {
      return outcome_of([&](write_outcome&) { store->drop_drafts_from(order.from_version); });
    },
    [store = store](const term_order& order) {
      return outcome_of([&](write_outcome&) {
        if (store)
          store->write_term(order.term);
      });
    },
    [trace = trace](const read_order& order) {
      const traced_work work{trace.get(), trace_kind::read, 0, 0};
      return outcome_of([&](write_outcome& result) { result.values = read(order); });
    },
  };
}

} // namespace troupe
