/* A client of a federated run in C: its rows are in a file and stay there; the server gets models.
 *
 *   client HOST:PORT FILE [NAME]
 *
 * Build it with libtroupe_client.so alone:   cc client.c -ltroupe_client
 */
#include <signal.h>
#include <stdio.h>

#include <troupe/client.h>

static const struct troupe_client_functions* calls;
static struct troupe_client* client;

static void on_news(void* context, const char* text) {
  (void) context;
  fprintf(stderr, "%s\n", text);
}

static void on_signal(int number) {
  (void) number;
  calls->stop(client); /* `run` returns soon */
}

int main(int argc, char** argv) {
  int code;
  char settings[256] = "";
  calls = troupe_client_calls(1);
  if (argc < 3 || !calls) {
    fprintf(stderr, "usage: client HOST:PORT FILE [NAME]\n");
    return 2;
  }
  if (argc > 3)
    snprintf(settings, sizeof settings, "name = '%s'", argv[3]);
  client = calls->open(argv[1], settings, on_news, NULL);
  signal(SIGINT, on_signal);
  signal(SIGTERM, on_signal);
  code = calls->file(client, argv[2], NULL);
  if (code == 0)
    code = calls->run(client);
  if (code != 0)
    fprintf(stderr, "%s\n", calls->error(client));
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  calls->close(client);
  return code;
}
