// Keys and values that are used together, and lines of a log that are not. With -DAPART=0 keys and values lie side by side.
#include <stdlib.h>
#include <string.h>
#ifndef APART
#define APART 1
#endif

struct key { unsigned hash; struct key *next; struct value *value; unsigned used; };
struct value { unsigned count; unsigned sum; };
struct log { unsigned at; char text[108]; };

static struct key *keys;
static struct log *logs[20000];

#if APART
__attribute__((noinline)) static struct key *make_key(void) { return malloc(sizeof(struct key)); }
__attribute__((noinline)) static struct value *make_value(void) { return malloc(sizeof(struct value)); }
#else
/* What is used together lies side by side. */
struct entry { struct key key; struct value value; };
static struct entry *entries;
static int taken;
__attribute__((noinline)) static struct key *make_key(void) { return &entries[taken].key; }
__attribute__((noinline)) static struct value *make_value(void) { return &entries[taken++].value; }
#endif
__attribute__((noinline)) static struct log *make_log(void) { return malloc(sizeof(struct log)); }

__attribute__((noinline)) static void insert(unsigned i) {
  struct key *k = make_key();
  struct value *v = make_value();
  struct log *l = make_log();
  memset(l, i, sizeof *l);
  l->at = i;
  v->count = v->sum = 0;
  k->hash = i * 2654435761u;
  k->value = v;
  k->used = 0;
  k->next = keys;
  keys = k;
  logs[i] = l;
}

__attribute__((noinline)) static unsigned look_up(void) {
  unsigned sum = 0;
  for (struct key *k = keys; k; k = k->next) {
    k->used++;
    k->value->count++;
    k->value->sum += k->hash;
    sum += k->value->sum;
  }
  return sum;
}

__attribute__((noinline)) static unsigned replay(int n) {
  unsigned sum = 0;
  for (int i = 0; i < n; i++)
    for (int at = 0; at < 100; at += 4) sum += logs[i]->text[at];
  return sum;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 2000;
  int rounds = argc > 2 ? atoi(argv[2]) : 40;
#if !APART
  entries = malloc(n * sizeof *entries);
#endif
  for (int i = 0; i < n; i++) insert(i);
  unsigned sum = 0;
  for (int r = 0; r < rounds; r++) sum += look_up();
  for (int r = 0; r < 4; r++) sum += replay(n);
  return sum == 42;
}
