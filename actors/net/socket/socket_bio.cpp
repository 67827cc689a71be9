#include "troupe/actors/net/socket/socket_bio.hpp"

#include <openssl/bio.h>

#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <memory>

namespace troupe {

namespace {

int descriptor_of(BIO* bio) {
  return static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio)));
}

bool is_for_later(ssize_t count) {
  return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

int read_socket(BIO* bio, char* onto, int size) {
  const auto count = ::recv(descriptor_of(bio), onto, static_cast<size_t>(size), 0);
  BIO_clear_retry_flags(bio);
  if (is_for_later(count))
    BIO_set_retry_read(bio);
  return static_cast<int>(count);
}

int write_socket(BIO* bio, const char* bytes, int size) {
  const auto count = ::send(descriptor_of(bio), bytes, static_cast<size_t>(size), MSG_NOSIGNAL);
  BIO_clear_retry_flags(bio);
  if (is_for_later(count))
    BIO_set_retry_write(bio);
  return static_cast<int>(count);
}

// There is nothing to flush, and nothing else is asked of a socket.
long control(BIO*, int what, long, void*) {
  return what == BIO_CTRL_FLUSH ? 1 : 0;
}

const BIO_METHOD* method() {
  static const std::unique_ptr<BIO_METHOD, decltype(&BIO_meth_free)> result{
    [] {
      auto* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
      BIO_meth_set_read(made, read_socket);
      BIO_meth_set_write(made, write_socket);
      BIO_meth_set_ctrl(made, control);
      return made;
    }(),
    BIO_meth_free};
  return result.get();
}

} // namespace

bio_st* make_socket_bio(int descriptor) {
  auto* result = BIO_new(method());
  if (result == nullptr)
    return nullptr;
  BIO_set_data(result, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)));
  BIO_set_init(result, 1);
  return result;
}

} // namespace troupe
