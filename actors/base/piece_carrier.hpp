// Piece carrier: a way for pieces beside the messages of the actor system. What it does not take
// goes as a message, as everything did before; what it takes arrives at the other exchange as the
// same piece, later, or never (docs/protocol.md, "Carriers").

#pragma once

#include "coordinators/base/carrier_choice.hpp"
#include "coordinators/exchange/exchange_messages.hpp"

#include <cstdint>
#include <string>

namespace troupe {

/// What a position says of a link: this much was sent, what has come? Or: this much has come.
enum class position_word : uint8_t { stamp, credit };

class piece_carrier {
public:
  virtual ~piece_carrier() = default;

  /// Which way pieces go to this process now: messages where there is no other.
  virtual carrier_choice way_to(const std::string& process) const = 0;

  /// Called in a turn of the node. False: there is no such way to this process, or not for this.
  virtual bool carry(const std::string& process, const tensor_piece& piece) = 0;
  /// Behind the pieces that were given before.
  virtual bool carry(const std::string& process, position_word word, const link_position& what) = 0;
};

} // namespace troupe
