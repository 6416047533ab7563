// Holds blocks by a global table of lists, by a second list, and by a thread-local pointer; and loses one.
#include <stdlib.h>
#include <string.h>

struct entry { struct entry *next; char *name; long value; };
struct table { long count; struct entry **slots; };

struct table *registry[4];
struct entry *recent;
static __thread char *scratch;

static struct table *table_new(long slots) {
  struct table *table = malloc(sizeof *table);
  table->count = slots;
  table->slots = calloc(slots, sizeof *table->slots);
  return table;
}

static struct entry *entry_new(struct entry *next, long value) {
  struct entry *entry = malloc(sizeof *entry);
  entry->next = next;
  entry->value = value;
  entry->name = malloc(100);
  memset(entry->name, 'x', 100);
  return entry;
}

int main(void) {
  registry[2] = table_new(64);
  for (long i = 0; i < 1000; i++) {
    struct entry **slot = &registry[2]->slots[i % 64];
    *slot = entry_new(*slot, i);
  }
  for (long i = 0; i < 10; i++) recent = entry_new(recent, i);
  scratch = malloc(5000);
  char *volatile lost = malloc(300);
  lost = NULL;
  return lost != NULL;
}
