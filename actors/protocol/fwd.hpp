// Names of all message types and their wire ids. When you change the order, raise `protocol_number` (admission.hpp): a
// node of another release must never take one message for another.

#pragma once

#include "models/base/names.hpp"

#include <caf/fwd.hpp>
#include <caf/type_id.hpp>

#include <cstdint>

namespace troupe {

/// The last value of an enumeration: one beyond it is refused as it arrives.
template <class Enum>
inline constexpr Enum last_of = name_table<Enum>::entries.back().first;

enum class protocol_error : uint8_t;

struct block_sums;
struct checkpoint_order;
struct cluster_view;
struct collective_failure;
struct collective_grant;
struct collective_group;
struct collective_introduction;
struct collective_part;
struct contribution;
struct directive;
struct distant_task;
struct drop_order;
struct evaluation;
struct evaluation_task;
struct farewell;
struct gate_event;
struct given_vectors;
struct given_up;
struct hold_answer;
struct copies_request;
struct hold_request;
struct horizon;
struct introduction;
struct member;
struct member_update;
struct member_work;
struct membership;
struct name_introduction;
struct named_actor;
struct node_report;
struct not_finite_report;
struct online_batch;
struct online_report;
struct task_header;
struct parameter_span;
struct process_news;
struct range_order;
struct read_order;
struct replica_status;
struct result_header;
struct boundary;
struct segment_parameters;
struct segment_request;
struct sent_credit;
struct sent_piece;
struct sent_stamp;
struct sent_want;
struct sequence_entry;
struct sequence_news;
struct shard_copy;
struct shard_numbers;
struct shard_start;
struct span_hash;
struct span_progress;
struct span_update;
struct standing;
struct summation;
struct term_order;
struct trained_model;
struct trainer_figures;
struct trainer_task;
struct trainer_result;
struct training_finished;
struct training_progress;
struct training_report;
struct training_status;
struct update_report;
struct view;
struct write_outcome;
class payload;

} // namespace troupe

/// Declares the `inspect` of a type: its fields on a wire, and as text. `TROUPE_INSPECT(TYPE, FIELDS)`, in one source
/// file (wire_fields.hpp), defines it, so that no other unit compiles what a message is made of.
#define TROUPE_INSPECTED(TYPE)                                                                     \
  template <class Inspector>                                                                       \
  typename Inspector::result_type inspect(Inspector& f, TYPE& x)

CAF_BEGIN_TYPE_ID_BLOCK(troupe_messages, caf::first_custom_type_id)

CAF_ADD_TYPE_ID(troupe_messages, (troupe::protocol_error))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::contribution))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::evaluation))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::horizon))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::not_finite_report))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::parameter_span))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::replica_status))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::training_finished))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::training_progress))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::training_report))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::training_status))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::view))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::block_sums))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::span_hash))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::online_batch))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::online_report))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::cluster_view))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::directive))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::hold_answer))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::given_up))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::copies_request))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::hold_request))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::member))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::node_report))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::shard_copy))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::shard_numbers))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::shard_start))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::introduction))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::farewell))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::gate_event))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::process_news))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::standing))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::sent_credit))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::sent_piece))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::sent_stamp))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::sent_want))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::summation))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::evaluation_task))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::trainer_figures))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::trainer_task))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::trainer_result))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::member_update))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::member_work))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::membership))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::update_report))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::distant_task))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::task_header))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::result_header))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::sequence_news))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::span_progress))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::given_vectors))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::span_update))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::checkpoint_order))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::term_order))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::write_outcome))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::boundary))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::segment_request))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::segment_parameters))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::payload))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::collective_failure))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::collective_group))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::collective_part))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::drop_order))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::range_order))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::read_order))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::trained_model))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::collective_grant))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::collective_introduction))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::name_introduction))
CAF_ADD_TYPE_ID(troupe_messages, (troupe::named_actor))

CAF_END_TYPE_ID_BLOCK(troupe_messages)
