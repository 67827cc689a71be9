#include "actors/run/configure.hpp"

#include "actors/base/work_sharing.hpp"
#include "actors/net/links/messages.hpp"
#include "actors/net/names/messages.hpp"
#include "actors/protocol/boundary_messages.hpp"
#include "actors/protocol/collective_messages.hpp"
#include "actors/protocol/coordinator_messages.hpp"
#include "actors/protocol/status_messages.hpp"
#include "actors/protocol/task_messages.hpp"
#include "actors/protocol/tensor_messages.hpp"
#include "actors/protocol/write_messages.hpp"

#include <caf/actor_system_config.hpp>

namespace troupe {

namespace {

std::string render_protocol_error(uint8_t code, caf::atom_value, const caf::message& context) {
  auto text = "troupe." + to_string(static_cast<protocol_error>(code));
  return context.empty() ? text : text + ' ' + to_string(context);
}

static_assert(caf::id_block::troupe_handles::end <= first_free_type_id);

} // namespace

void configure(caf::actor_system_config& config) {
  config.add_message_types<caf::id_block::troupe_messages>();
  config.add_message_types<caf::id_block::troupe_handles>();
  config.add_error_category(caf::atom("troupe"), render_protocol_error);
  share_work(config);
}

} // namespace troupe
