/* The same in C, with the shared library alone. */

#include <stdio.h>

#include <troupe/client.h>

static int train(void* context, const struct troupe_order* order, struct troupe_update* update) {
  (void) context;
  (void) order;
  (void) update;
  return 1;
}

int main(void) {
  const struct troupe_client_functions* calls = troupe_client_calls(1);
  struct troupe_client* client = calls->open("127.0.0.1:1", "name = 'consumer'\npatience = 0", NULL, NULL);
  calls->trainer(client, train, NULL);
  printf("%d\n", calls->run(client));
  calls->close(client);
  return 0;
}
