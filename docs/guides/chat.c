// A chat server for docs/guides/my-server-grows.md: it answers requests, and keeps one session per request.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct session {
  char user[48];
  struct session *next;
};

static struct session *sessions;
static char *templates[4000];

static char *load_template(int number) {
  char *text = malloc(160);
  snprintf(text, 160, "<p>template %d</p>", number);
  return text;
}

static void open_session(int number) {
  struct session *session = malloc(sizeof *session);
  snprintf(session->user, sizeof session->user, "user-%d", number);
  session->next = sessions;
  sessions = session;
}

static void answer(int number) {
  char *body = malloc(2000);
  memset(body, 'x', 2000);
  open_session(number);
  free(body);
}

int main(int argc, char **argv) {
  int seconds = argc > 1 ? atoi(argv[1]) : 10;
  for (int i = 0; i < 4000; i++) templates[i] = load_template(i);
  puts("ready");
  fflush(stdout);
  for (int i = 0; i < seconds * 200; i++) {
    answer(i);
    usleep(5000);
  }
  printf("last user %s, first template %s\n", sessions->user, templates[0]);
}
