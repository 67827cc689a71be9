// Names of all message types and their wire ids. Ids are append-only: a node of an older release
// must never take one message for another.

#pragma once

#include <caf/fwd.hpp>
#include <caf/type_id.hpp>

#include <cstdint>

namespace troupe {

enum class protocol_error : uint8_t;

struct block_sums;
struct checkpoint_order;
struct child_model;
struct cluster_view;
struct collective_failure;
struct collective_grant;
struct collective_group;
struct collective_introduction;
struct collective_part;
struct contribution;
struct course;
struct distant_order;
struct drop_order;
struct evaluation;
struct evaluation_order;
struct farewell;
struct gate_event;
struct gradient_offer;
struct gradient_report;
struct gradient_work;
struct hold_answer;
struct hold_request;
struct horizon;
struct introduction;
struct member;
struct merge_report;
struct node_report;
struct not_finite_report;
struct online_batch;
struct online_report;
struct order_sheet;
struct parameter_span;
struct process_news;
struct range_order;
struct read_order;
struct replica_status;
struct result_sheet;
struct seam;
struct segment_parameters;
struct segment_request;
struct sent_credit;
struct sent_piece;
struct sent_stamp;
struct sent_want;
struct shard_copy;
struct shard_numbers;
struct shard_start;
struct span_hash;
struct standing;
struct summation;
struct term_order;
struct trained_model;
struct trainer_figures;
struct trainer_order;
struct trainer_result;
struct training_finished;
struct training_progress;
struct training_report;
struct training_status;
struct view;
struct write_outcome;
class payload;

} // namespace troupe

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

CAF_END_TYPE_ID_BLOCK(troupe_messages)
