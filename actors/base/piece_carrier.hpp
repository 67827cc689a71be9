// Piece carrier: a way for pieces beside the messages of the actor system. A piece that it takes
// arrives at the other exchange unchanged, later, or never. A piece that it refuses goes as a
// message (docs/protocol.md, "Carriers").

#pragma once

#include "coordinators/base/carrier_choice.hpp"
#include "coordinators/exchange/exchange_messages.hpp"

#include <cstdint>
#include <string>

namespace troupe {

/// What a link position means: `stamp`, so much was sent; `credit`, so much has come.
enum class position_word : uint8_t { stamp, credit };

class piece_carrier {
public:
  virtual ~piece_carrier() = default;

  /// Which way pieces go to this process now: messages where there is no other.
  virtual carrier_choice way_to(const std::string& process) const = 0;

  /// The node calls it. False: the carrier has no way to this process, or not for this piece.
  virtual bool carry(const std::string& process, const tensor_piece& piece) = 0;
  /// The position travels behind the pieces that were carried before.
  virtual bool carry(const std::string& process, position_word word, const link_position& what) = 0;
};

} // namespace troupe
