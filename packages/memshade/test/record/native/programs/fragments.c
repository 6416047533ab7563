// A burst of messages of which some stay (stay), none stay (none), all stay (all), or that end in the order that they came in, to the last (order).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MESSAGES = 60000, BYTES = 600 };

static char *queue[MESSAGES];

static char *make(void) {
  char *message = malloc(BYTES);
  memset(message, 'a', BYTES);
  return message;
}

int main(int argc, char **argv) {
  const char *how = argv[1];
  printf("%s\n", how);
  fflush(stdout);
  for (int i = 0; i < MESSAGES; i++) queue[i] = make();
  // The buffer of a file stays behind them.
  if (strcmp(how, "none") == 0) setvbuf(stdout, NULL, _IOFBF, 1024), puts("done");
  FILE *file = strcmp(how, "none") == 0 ? fopen("/dev/null", "r") : NULL;
  if (strcmp(how, "all") != 0)
    for (int i = 0; i < MESSAGES; i++)
      if (strcmp(how, "stay") != 0 || i % 64 != 0) {
        free(queue[i]);
        queue[i] = NULL;
      }
  // Somebody looks a hundred times a second at what there is.
  usleep(100000);
  return file != NULL && argc > 2;
}
