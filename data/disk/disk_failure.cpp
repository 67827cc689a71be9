#include "troupe/data/disk/disk_failure.hpp"

#include <cerrno>
#include <system_error>

namespace troupe {

namespace {

failure_code code_of_writing(int error_number) {
  switch (error_number) {
  case ENOENT:
  case ENOTDIR:
  case EISDIR:
  case ENOTEMPTY:
  case EEXIST:
  case ENAMETOOLONG:
  case ELOOP:
    return failure_code::cannot_create;
  case EACCES:
  case EPERM:
  case EROFS:
    return failure_code::no_permission;
  default:
    return failure_code::io_error;
  }
}

failure_code code_of_reading(int error_number) {
  if (error_number == ENOENT || error_number == ENOTDIR)
    return failure_code::missing_input;
  return error_number == EACCES || error_number == EPERM ? failure_code::no_permission
                                                         : failure_code::io_error;
}

std::string sentence(const disk_refusal& refusal) {
  return refusal.what + " (" + std::generic_category().message(refusal.error_number) + ")";
}

} // namespace

failure writing_failure(const disk_refusal& refusal, const disk_room& room) {
  const auto code = code_of_writing(refusal.error_number);
  auto reason = sentence(refusal);
  std::string hint;
  if (refusal.error_number == ENOSPC || refusal.error_number == EDQUOT) {
    const auto there =
      room.bytes_available ? std::to_string(*room.bytes_available) : "an unknown number";
    reason += ": " + std::to_string(room.bytes_needed) + " bytes needed, " + there + " available";
    hint = "free some space or write elsewhere";
  } else if (refusal.error_number == ENOENT) {
    hint = "create the folder first";
  } else if (code == failure_code::no_permission) {
    hint = "check the permissions of the folder";
  }
  return {code, reason, refusal.path, hint};
}

failure reading_failure(const disk_refusal& refusal) {
  const auto code = code_of_reading(refusal.error_number);
  const bool permission = code == failure_code::no_permission;
  return {code, sentence(refusal), refusal.path, permission ? "check its permissions" : ""};
}

} // namespace troupe
