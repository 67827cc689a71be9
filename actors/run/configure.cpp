#include "troupe/actors/run/configure.hpp"

#include "troupe/actors/base/work_sharing.hpp"
#include "troupe/actors/net/links/messages.hpp"
#include "troupe/actors/protocol/collective_messages.hpp"
#include "troupe/actors/protocol/coordinator_messages.hpp"
#include "troupe/actors/protocol/order_messages.hpp"
#include "troupe/actors/protocol/seam_messages.hpp"
#include "troupe/actors/protocol/status_messages.hpp"
#include "troupe/actors/protocol/tensor_messages.hpp"
#include "troupe/actors/protocol/write_messages.hpp"

#include <caf/actor_system_config.hpp>

namespace troupe {

namespace {

std::string render_protocol_error(uint8_t code, caf::atom_value, const caf::message& context) {
  auto text = "troupe." + to_string(static_cast<protocol_error>(code));
  return context.empty() ? text : text + ' ' + to_string(context);
}

} // namespace

void configure(caf::actor_system_config& config) {
  config.add_message_types<caf::id_block::troupe_messages>();
  config.add_message_types<caf::id_block::troupe_atoms>();
  config.add_message_types<caf::id_block::troupe_handles>();
  config.add_message_types<caf::id_block::troupe_online>();
  config.add_message_types<caf::id_block::troupe_cluster>();
  config.add_message_types<caf::id_block::troupe_net>();
  config.add_message_types<caf::id_block::troupe_exchange>();
  config.add_message_types<caf::id_block::troupe_trainers>();
  config.add_message_types<caf::id_block::troupe_coordinators>();
  config.add_message_types<caf::id_block::troupe_orders>();
  config.add_message_types<caf::id_block::troupe_writes>();
  config.add_message_types<caf::id_block::troupe_parallel>();
  config.add_message_types<caf::id_block::troupe_collectives>();
  config.add_message_types<caf::id_block::troupe_files>();
  config.add_message_types<caf::id_block::troupe_meetings>();
  config.add_error_category(caf::atom("troupe"), render_protocol_error);
  share_work(config);
}

} // namespace troupe
