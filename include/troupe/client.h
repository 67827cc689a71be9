/* A client of a federated run, for programs in any language: nine functions in a table, in libtroupe_client.so.
 *
 *   const struct troupe_client_functions* calls = troupe_client_calls(1);
 *   struct troupe_client* client = calls->open("hub:7000", "name = \"ward-3\"", NULL, NULL);
 *   if (calls->file(client, "ward.csv", NULL) != 0 || calls->run(client) != 0)
 *     fprintf(stderr, "%s\n", calls->error(client));
 *   calls->close(client);
 *
 * Texts are UTF-8 and end with 0. What is passed in is copied; what comes out belongs to the client.
 *
 * Results: 0, or an exit code of the command (docs/command-line.md): 65 for rows that are not as the server reads them, 69
 * for a server that is not there, 76 for another version, 77 for one side that does not believe the other, 2 for calls
 * that make no sense. `error` then says what is wrong and what to do.
 *
 * Threads: one thread at a time uses a client, but `stop` may be called by any, and by a handler of a signal. `run` and
 * `table` block. A trainer is called on a thread of its own, for one order at a time; `say` on that of `run` and `table`.
 */
#ifndef TROUPE_CLIENT_H
#define TROUPE_CLIENT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct troupe_client;

/* What a trainer is asked. */
struct troupe_order {
  uint64_t round;           /* from 0 on */
  uint64_t parameter_count; /* P */
  const float* start;       /* P: the model of the round */
  /* Not 0: the result is wanted no more. Ask often: `run` ends, and the next order begins, only when the trainer returns. */
  int (*stop_requested)(const struct troupe_order* order);
};

/* What came of it. At first values are not numbers and the others are 0. */
struct troupe_update {
  float* values;    /* P: to be filled with the model after training */
  uint64_t rows;    /* that it was trained on, at least 1: its weight in the round */
  double loss;      /* mean over the rows */
  uint64_t correct; /* right rows, of classes; else 0 */
};

/* 0, or another number to end `run` with an error. */
typedef int (*troupe_trainer)(void* context, const struct troupe_order* order,
                              struct troupe_update* update);
typedef void (*troupe_say)(void* context, const char* text);

struct troupe_client_functions {
  /* `server` is "host:port". `settings` is TOML, or NULL: name, ca, certificate, key (files; all three secure the
   * connection), server_name (that the server's certificate proves), patience (seconds without a server; 3600). Without a
   * name the client is called as its certificate says, or else its file. `say` gets
   * news for people, or is NULL. NULL only if there is no memory: else what is wrong is said by `error` and by each
   * further call. */
  struct troupe_client* (*open)(const char* server, const char* settings, troupe_say say,
                                void* context);

  /* Asks the server how it has rows, as JSON: {"parameters": P, "feature_count": F, "features": [names], "classes": [..],
   * "targets": [names]}. Sparse rows have no names; "classes" is empty where targets are numbers. NULL: an error. Good until the next call of it, or `close`. */
  const char* (*table)(struct troupe_client* client);

  /* One of the three, before `run`; the last call counts. */

  /* The client's rows are in this file. `sets`, or NULL: lines "data.separator=;" that say how it is written. */
  int (*file)(struct troupe_client* client, const char* path, const char* sets);
  /* The client's rows: row_count x feature_count, row-major, features in the table's order. `targets`, row_count x
   * target_count: the number of each row's class, from 0 on in the table's order (target_count 1); or its numbers. */
  int (*rows)(struct troupe_client* client, const float* features, uint64_t row_count,
              uint64_t feature_count, const float* targets, uint64_t target_count);
  /* A training of the application's own. */
  int (*trainer)(struct troupe_client* client, troupe_trainer train, void* context);

  /* Takes part until the server says that it is over, or `stop` is called. */
  int (*run)(struct troupe_client* client);
  /* `run` and `table` return soon; at once if they are yet to begin. Never after `close`. */
  void (*stop)(struct troupe_client* client);

  /* Why the last call failed, where, and what to do, in one line; "" if it did not. Good until the next call. */
  const char* (*error)(const struct troupe_client* client);
  void (*close)(struct troupe_client* client);
};

/* The table of this version, 1; NULL for a version that the library does not have. */
const struct troupe_client_functions* troupe_client_calls(uint32_t version);

#ifdef __cplusplus
}
#endif

#endif
