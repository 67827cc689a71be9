// The interfaces of all actors: the whole protocol on one page. The picture shows synchronous training.
//
//   observer <--progress, finished-- director ==view, directive, hold, tensors==> node
//                                      ^  ^                                        | view, horizon,
//                evaluation -----------+  +---- training report, not finite        | hold, start
//                                      |              |                            v
//                                   replica <====> shard                    replicas, shards
//                                        contribution, parameter span
//
//   node <==tensors: piece, want, credit, stamp==> node of another process
//        <==task header, result header==>
//
// Double lines may cross a wire, where messages can be lost with their link, come late, or come twice. Single lines
// stay in one process, where large values travel as pointers. Every message is idempotent: it states what is, not what
// changed. messages.hpp and cluster_messages.hpp have the fields. The node stands for the remote shards to its
// replicas, and for the remote replicas to its shards.

#pragma once

#include "actors/protocol/atoms.hpp"
#include "actors/protocol/fwd.hpp"

#include <caf/replies_to.hpp>
#include <caf/typed_actor.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

/// An actor that computes for a run.
using worker_actor = caf::typed_actor<
  // Its work so far.
  caf::replies_to<atom::status>::with<replica_status>>;

/// A worker that goes from step to step by itself.
using step_member_actor = worker_actor::extend<
  // The view: all replicas and shards, and the slices of this one. The higher (term, number) wins.
  caf::reacts_to<view>,
  // How far it may go: the worker computes the steps below the horizon.
  caf::reacts_to<horizon>,
  // Start no further step until the next horizon; the round's number. Answered to the node with
  // `held`.
  caf::reacts_to<atom::hold, uint64_t>>;

/// Computes slices of steps, and chunks of evaluations.
using replica_actor = step_member_actor::extend<
  // A shard owns a version of its span. The replica goes on when it knows every span.
  caf::reacts_to<parameter_span>,
  // Gradients to be added for other processes. Answered to the node with a `contribution`.
  caf::reacts_to<summation>,
  // Rows between two segments, from a replica that shares the model.
  caf::reacts_to<boundary>,
  // Parameters that it asked its node for.
  caf::reacts_to<segment_parameters>,
  // To itself: compute the next tile.
  caf::reacts_to<atom::tick>>;

/// Owns parameters.
using owner_actor = caf::typed_actor<
  // The view: the replicas to announce versions to, or the trainers to give tasks to.
  caf::reacts_to<view>,
  // A term begins: the state to start from. The view that follows has the start version.
  caf::reacts_to<shard_start>,
  // The horizon: a version to report although no epoch ends there.
  caf::reacts_to<horizon>,
  // Its parameters of a version: the current or the previous one at once, a shard's later one when it exists.
  // version_not_held when the version is gone or will not come.
  caf::replies_to<atom::pull, uint64_t>::with<parameter_span>,
  // Each replica's work and waits, as far as the owner has counted them.
  caf::replies_to<atom::figures>::with<trainer_figures>>;

/// Owns a span of the parameters: adds gradients, applies the optimizer.
using shard_actor = owner_actor::extend<
  // A sum of slice gradients of the step on this shard's span.
  caf::reacts_to<contribution>,
  // Another shard's share of the gradient's norm; only when it is clipped by norm.
  caf::reacts_to<block_sums>,
  // All deputies have its copy of this version: it may make the next one.
  caf::reacts_to<atom::save, uint64_t>>;

/// Takes a parameter server's tasks, one at a time: a trainer, or the stand-in for a trainer of another process.
using task_taker_actor = caf::typed_actor<
  // A gradient, or a member's local steps. Answered to the parameter server with a `trainer_result`.
  caf::reacts_to<trainer_task>,
  // A share of an evaluation. Answered to the director with an `evaluation`.
  caf::reacts_to<evaluation_task>>;

/// The replica of the modes where one actor, the parameter server, owns all parameters. It computes what the parameter
/// server gives it.
using trainer_actor = worker_actor::extend_with<task_taker_actor>;

/// The shard of those modes: it decides which trainer computes what next.
using server_actor = owner_actor::extend<
  // The result of a task. To itself: time passes.
  caf::reacts_to<trainer_result>, caf::reacts_to<atom::tick>,
  // No task for a further step until the next horizon: the index to answer under, and the round.
  // Answered to the node with `held`.
  caf::reacts_to<atom::hold, uint64_t, uint64_t>>;

/// Owns a span of the parameters in another process than the parameter server, and follows its decisions.
using span_owner_actor = owner_actor::extend<
  // Decisions, each once and in order.
  caf::reacts_to<sequence_news>,
  // An update of its span, before it is decided.
  caf::reacts_to<span_update>>;

/// Receives results: the director, or the node that stands for it.
using reports_actor = caf::typed_actor<
  // Sums over the steps since the last row, from the shard that keeps the metrics.
  caf::reacts_to<training_report>,
  // Sums over chunks of the test and validation rows, from a replica.
  caf::reacts_to<evaluation>,
  // The hash of blocks of a row's version, from each shard.
  caf::reacts_to<span_hash>,
  // A shard met a value that is not finite and did not apply it.
  caf::reacts_to<not_finite_report>>;

/// The node as the replicas and shards of its process see it.
using relay_actor = caf::typed_actor<
  // A gradient for the shards of other processes; rows between two segments for their replicas;
  // whether a local replica needs a segment's parameters.
  caf::reacts_to<contribution>, caf::reacts_to<boundary>, caf::reacts_to<segment_request>,
  // A version of a local span, for the replicas of other processes.
  caf::reacts_to<parameter_span>,
  // A local shard's share of the gradient's norm, for the shards of other processes.
  caf::reacts_to<block_sums>,
  // A replica on hold: its index, the round, and the first step it has not started.
  caf::reacts_to<atom::held, uint64_t, uint64_t, uint64_t>,
  // A shard's state at a version that is to be checkpointed.
  caf::reacts_to<shard_copy>,
  // A parameter server's decisions, for the owners in other processes; what a task begins with, from one of these.
  caf::reacts_to<sequence_news>, caf::reacts_to<given_vectors>>;

/// An actor with a tensor exchange (tensor_messages.hpp): a node or the director.
using tensor_actor = caf::typed_actor<
  // Elements of a tensor.
  caf::reacts_to<sent_piece>,
  // A peer misses elements that this process should have.
  caf::reacts_to<sent_want>,
  // The peer has seen the pieces up to this position: this process may send more.
  caf::reacts_to<sent_credit>,
  // The peer has sent everything up to this position and asks what has come. Answered with credit.
  caf::reacts_to<sent_stamp>>;

/// The node as other processes see it. Everything comes over a wire that may lose it.
using node_actor = tensor_actor::extend<
  // director: the members, replicas and shards. The higher (term, number) wins.
  caf::reacts_to<cluster_view>,
  // director: this incarnation is no member any more, and no view can tell of it yet.
  caf::reacts_to<given_up>,
  // director: how far training goes, and which reports have arrived.
  caf::reacts_to<directive>,
  // director: start no further step until the next directive.
  caf::reacts_to<hold_request>,
  // director: which copies of spans does the process hold?
  caf::reacts_to<copies_request>,
  // The few numbers of a checkpoint's state, from the director.
  caf::reacts_to<shard_numbers>,
  // A task of the other process's parameter server to a trainer of this one; its vectors come in pieces.
  caf::reacts_to<task_header>,
  // The result of a task of this process's parameter server; its vectors come in pieces.
  caf::reacts_to<result_header>,
  // The parameter server's decisions, for the owner here; how far an owner elsewhere is.
  caf::reacts_to<sequence_news>, caf::reacts_to<span_progress>>;

/// The director as the nodes see it.
using director_link_actor = tensor_actor::extend_with<reports_actor>::extend<
  // A process, about itself: a second after the last one, and when something changed.
  caf::reacts_to<node_report>,
  // The few numbers of a checkpoint's state.
  caf::reacts_to<shard_numbers>,
  // A process on hold.
  caf::reacts_to<hold_answer>>;

/// An observer of training. It subscribes with `watch`.
using observer_actor = caf::typed_actor<
  // A few times a second and at each row of the history.
  caf::reacts_to<training_progress>,
  // Once, at the end; an observer that subscribes later gets it, too.
  caf::reacts_to<training_finished>>;

/// The director as the outside world sees it.
using control_actor = caf::typed_actor<
  // How training goes, at once, also while all cores compute.
  caf::replies_to<atom::status>::with<training_status>,
  // Subscribes an observer.
  caf::reacts_to<atom::watch, observer_actor>,
  // Stop at the first version that every replica can reach. Any number of times.
  caf::reacts_to<atom::stop>>;

/// One for each job: decides how far training goes and when it ends.
using director_actor = control_actor::extend_with<director_link_actor>::extend<
  // Start as soon as all processes, or enough of them, are linked.
  caf::reacts_to<atom::begin>,
  // A process has joined, with its node; the director monitors the link from now on.
  caf::reacts_to<member, node_actor>,
  // A process cannot be linked, or was refused: its name (empty: unknown), and why.
  caf::reacts_to<std::string, std::string>,
  // The final parameters, once training has finished, else not_finished. Within a process only.
  caf::replies_to<atom::pull>::with<trained_model>,
  // To itself: time passes.
  caf::reacts_to<atom::tick>>;

/// A node as its own process sees it.
using local_node_actor = node_actor::extend_with<reports_actor>::extend<
  // The other messages of relay_actor.
  caf::reacts_to<contribution>, caf::reacts_to<boundary>, caf::reacts_to<segment_request>,
  caf::reacts_to<parameter_span>, caf::reacts_to<block_sums>,
  caf::reacts_to<atom::held, uint64_t, uint64_t, uint64_t>, caf::reacts_to<shard_copy>,
  caf::reacts_to<given_vectors>,
  // The director's handle, and the incarnation under which this process joined over that link. The node monitors the
  // link from now on.
  caf::reacts_to<uint64_t, director_link_actor>,
  // Another process's node, with its name and incarnation.
  caf::reacts_to<std::string, uint64_t, node_actor>,
  // A task of the parameter server here to a trainer elsewhere.
  caf::reacts_to<distant_task>,
  // The result of a task of another process's parameter server.
  caf::reacts_to<trainer_result>,
  // The process asks to leave. Again: nothing.
  caf::reacts_to<atom::leave>,
  // To itself: time passes.
  caf::reacts_to<atom::tick>>;

/// The links of a process (actors/net/links/links.hpp) as those of another process see them.
using links_actor = caf::typed_actor<
  // The process at the other end, and its actors. With another incarnation that process joins anew.
  caf::reacts_to<introduction>,
  // From the director's process: it has a link with the process of this name; where to dial one that no file lists.
  caf::reacts_to<atom::join, std::string, std::string>,
  // From the director's process: this one, which no file lists, is gone.
  caf::reacts_to<atom::leave, std::string>,
  // The run is over. Answered by whoever is then about to end; else there is no answer of use.
  caf::replies_to<farewell>::with<atom::stop>,
  // Is this process alive? Another process asks when a newcomer claims this one's name.
  caf::replies_to<caf::ping_atom>::with<caf::pong_atom>>;

/// Goes on learning from batches as they come (actors/embed/online.hpp).
using online_actor = caf::typed_actor<
  // Rows to learn from. The actor learns batches in the order they arrive and then answers; it refuses at once when too
  // many wait. Not idempotent: a repeated batch is learned twice.
  caf::replies_to<online_batch>::with<online_report>,
  // The current parameters; their version counts the applied updates. Answered before the waiting batches are learned.
  caf::replies_to<atom::pull>::with<parameter_span>,
  // To itself: learn the batch that has waited longest.
  caf::reacts_to<atom::tick>>;

/// Hears of an application's main model (actors/embed/coordinator.hpp).
using model_listener_actor = caf::typed_actor<
  // The main model; its version counts updates, or rounds.
  caf::reacts_to<parameter_span>>;

/// Owns an application's main model, which members move (actors/embed/coordinator.hpp).
using coordinator_actor = caf::typed_actor<
  // A member, by its name, and who stands for it: once that actor has ended, nobody waits for the member. Answered with its
  // place, or protocol_error::refused. Joining again begins another life: what the earlier one has open is void.
  caf::replies_to<atom::join, std::string, caf::actor>::with<membership>,
  // A member asks for work. A repeated question gets the same ticket.
  caf::replies_to<atom::pull, membership>::with<member_work>,
  // What came of it. A repeated one counts once and is answered alike.
  caf::replies_to<member_update>::with<update_report>,
  // Send the main model to this actor: now, and after updates, until it ends.
  caf::reacts_to<atom::watch, model_listener_actor>,
  // The main model; its version counts updates, or rounds.
  caf::replies_to<atom::pull>::with<parameter_span>,
  // Write a checkpoint: answered with its version once it is on the disk, or with protocol_error::refused.
  caf::replies_to<atom::save>::with<uint64_t>,
  // Models that wait for their round are merged; members hear that it is over. Answered with the last version once all of
  // them have ended, or have asked again, which says that they know; or the coordinator's patience is over.
  caf::replies_to<atom::stop>::with<uint64_t>,
  // To itself: time passes.
  caf::reacts_to<atom::tick>>;

// ---- Collectives (docs/collectives.md) ----

/// A member of a group for collectives (actors/collective/collective_member.hpp). Each call has the
/// number of its round first and is answered once: with values, or collective_failed.
using collective_member_actor = caf::typed_actor<
  // All members, before any call. Only the first counts.
  caf::reacts_to<collective_group>,
  // N values of each member: their sum.
  caf::replies_to<atom::all_reduce, uint64_t, payload>::with<payload>,
  // N values of each member: this member's part of their sum.
  caf::replies_to<atom::reduce_scatter, uint64_t, payload>::with<payload>,
  // This member's values, any number: those of all, in member order.
  caf::replies_to<atom::all_gather, uint64_t, payload>::with<payload>,
  // The root, and its N values (other members' are ignored): the root's values.
  caf::replies_to<atom::broadcast, uint64_t, uint64_t, payload>::with<payload>,
  // The root, and its N values: this member's part of them.
  caf::replies_to<atom::scatter, uint64_t, uint64_t, payload>::with<payload>,
  // No values, once all members have called.
  caf::replies_to<atom::barrier, uint64_t>::with<payload>,
  // From another member: a part of a round, leave to send more of one, or the failure of a round. Idempotent.
  caf::reacts_to<collective_part>, caf::reacts_to<collective_grant>,
  caf::reacts_to<collective_failure>,
  // The last call: answered once the other members have everything that this one owes them.
  caf::replies_to<atom::stop>::with<atom::stop>,
  // From another member: answered at once, which proves that its earlier messages have come.
  caf::replies_to<caf::ping_atom>::with<caf::pong_atom>,
  // To itself: time passes.
  caf::reacts_to<atom::tick>>;

/// Brings the members of several processes together (actors/net/collective): the interface that its peers see.
using collective_meeting_actor = caf::typed_actor<
  // Over a new connection: the dialling side introduces itself once, the other side answers with its own.
  caf::reacts_to<collective_introduction>>;

/// Knows the named actors of several processes (actors/net/names): the interface that its peers see.
using name_directory_actor = caf::typed_actor<
  // Over a new connection: the dialling side introduces itself, the other side answers with its own. Later at each
  // change of the sender's names.
  caf::reacts_to<name_introduction>>;

// Local company: the actors of a process that compute, and those that own parameters, each with
// every handle that its node can use. A run has one of three companies:
//
//                       workers     owners      members     the lists of their own
//   synchronous         replicas    shards      replicas    replicas, shards
//   solving             the solver  the solver  the solver
//   parameter server    trainers    the server              trainers, server
//     elsewhere         trainers    an owner of a span      trainers, span owner

struct local_company {
  std::vector<worker_actor> workers; ///< replicas of a view, by index in the process
  std::vector<owner_actor> owners;   ///< shards of a view, likewise
  // The same ones, by what else they take; each list is complete or empty.
  std::vector<step_member_actor> members;
  std::vector<replica_actor> replicas;
  std::vector<shard_actor> shards;
  std::vector<trainer_actor> trainers;
  server_actor server;         ///< null: elsewhere, or there is none
  span_owner_actor span_owner; ///< null: this process owns nothing, or has the server

  void add_worker(const step_member_actor& x) {
    workers.emplace_back(x);
    members.push_back(x);
  }
  void add(const replica_actor& x) {
    add_worker(x);
    replicas.push_back(x);
  }
  void add(const trainer_actor& x) {
    workers.emplace_back(x);
    trainers.push_back(x);
  }
  void add(const shard_actor& x) {
    owners.emplace_back(x);
    shards.push_back(x);
  }
  void add(const server_actor& x) {
    owners.emplace_back(x);
    server = x;
  }
  void add(const span_owner_actor& x) {
    owners.emplace_back(x);
    span_owner = x;
  }
};

} // namespace troupe

CAF_BEGIN_TYPE_ID_BLOCK(troupe_handles, caf::id_block::troupe_messages::end)

CAF_ADD_TYPE_ID(troupe_handles, (troupe::replica_actor))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::shard_actor))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::observer_actor))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::control_actor))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::director_actor))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::online_actor))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::reports_actor))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::relay_actor))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::node_actor))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::director_link_actor))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::local_node_actor))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::links_actor))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::tensor_actor))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::trainer_actor))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::server_actor))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::span_owner_actor))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::model_listener_actor))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::coordinator_actor))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::task_taker_actor))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::collective_meeting_actor))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::name_directory_actor))

CAF_END_TYPE_ID_BLOCK(troupe_handles)
