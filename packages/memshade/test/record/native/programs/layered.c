/* Functions that hand out memory of a size that their caller chooses, and others that only look like that. */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#define EXPORTED __attribute__((noinline, noipa))
#define PASSES __attribute__((noinline))

struct node {
  long kind;
  long values[4];
};
struct table {
  long rows;
  void **cells;
};

size_t requested;
void *newest;
struct table shared;
static const size_t sizes[] = {24, 40, 56};

__attribute__((noreturn)) EXPORTED void die(size_t size) {
  fprintf(stderr, "no %zu bytes\n", size);
  exit(1);
}

/* Layers. */

PASSES void *xmalloc(size_t size) {
  void *block = malloc(size ? size : 1);
  if (block == NULL) die(size);
  return block;
}

PASSES void *xcalloc(size_t count, size_t size) {
  void *block = calloc(count, size);
  if (block == NULL) die(count * size);
  return block;
}

PASSES void *xrealloc(void *old, size_t size) {
  if (size == 0) {
    free(old);
    return xmalloc(0);
  }
  void *block = realloc(old, size);
  if (block == NULL) die(size);
  return block;
}

PASSES void *with_header(size_t size) {
  size_t *block = malloc(size + 2 * sizeof(size_t));
  if (block == NULL) return NULL;
  requested += size;
  block[0] = size;
  return block + 2;
}

EXPORTED size_t rounded(size_t size) {
  return (size + 63) & ~(size_t)63;
}

PASSES void *in_lines(size_t size) {
  size_t bytes = rounded(size);
  void *block = xmalloc(bytes);
  memset(block, 0, bytes);
  return block;
}

PASSES void *aligned(size_t size) {
  void *block;
  if (posix_memalign(&block, 64, size) != 0) die(size);
  return block;
}

EXPORTED void *failed(void) {
  requested = 0;
  return NULL;
}

PASSES void *or_failed(size_t size) {
  if (size > 1 << 20) return failed();
  void *block = malloc(size);
  if (block == NULL) return failed();
  requested += size;
  return block;
}

EXPORTED void *hooked(size_t size) {
  void *block = xmalloc(size);
  requested += size;
  return block;
}

void *(*volatile hook)(size_t) = hooked;

PASSES void *by_hook(size_t size) {
  void *block = hook(size);
  if (block == NULL) die(size);
  return block;
}

PASSES char *copied(const char *text) {
  size_t length = strlen(text) + 1;
  return memcpy(xmalloc(length), text, length);
}

PASSES char *duplicated(const char *text) {
  char *copy = strdup(text);
  if (copy == NULL) die(0);
  return copy;
}

/* No layers. */

EXPORTED struct node *make_node(long kind) {
  struct node *made = xmalloc(sizeof(struct node));
  made->kind = kind;
  return made;
}

EXPORTED void *make_of_kind(int kind) {
  void *made = xmalloc(sizes[kind]);
  requested += sizes[kind];
  return made;
}

EXPORTED void *make_like(const struct table *like) {
  void *made = xmalloc(like->rows);
  requested++;
  return made;
}

EXPORTED void reserve(size_t size) {
  newest = xmalloc(size);
}

EXPORTED void *keep(size_t size) {
  void **kept = xmalloc(size);
  *kept = newest;
  newest = kept;
  return kept;
}

EXPORTED void resize(struct table *table, size_t rows) {
  table->cells = xcalloc(rows, sizeof(void *));
  table->rows = rows;
}

EXPORTED long sum(size_t count) {
  long *scratch = xmalloc(count * sizeof(long));
  long total = 0;
  for (size_t i = 0; i < count; i++) scratch[i] = i * count;
  for (size_t i = 0; i < count; i++) total += scratch[i];
  free(scratch);
  return total;
}

/* Callers, each with blocks of its own. */

EXPORTED void calls_xmalloc(void) { newest = xmalloc(100); requested++; }
EXPORTED void calls_xcalloc(void) { newest = xcalloc(4, 50); requested++; }
EXPORTED void calls_xrealloc(void) { newest = xrealloc(xmalloc(8), 300); requested++; }
EXPORTED void calls_with_header(void) { newest = with_header(400); requested++; }
EXPORTED void calls_in_lines(void) { newest = in_lines(500); requested++; }
EXPORTED void calls_aligned(void) { newest = aligned(600); requested++; }
EXPORTED void calls_or_failed(void) { newest = or_failed(700); requested++; }
EXPORTED void calls_by_hook(void) { newest = by_hook(800); requested++; }
EXPORTED void calls_copied(void) { newest = copied("a text that is copied"); requested++; }
EXPORTED void calls_duplicated(void) { newest = duplicated("another text"); requested++; }

int main(void) {
  calls_xmalloc();
  calls_xcalloc();
  calls_xrealloc();
  calls_with_header();
  calls_in_lines();
  calls_aligned();
  calls_or_failed();
  calls_by_hook();
  calls_copied();
  calls_duplicated();
  shared.rows = 88;
  make_node(1);
  make_of_kind(2);
  make_like(&shared);
  reserve(1000);
  keep(1100);
  resize(&shared, 12);
  return sum(3) == 9 ? 0 : 1;
}
