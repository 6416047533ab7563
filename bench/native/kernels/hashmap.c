/* A hash map with open addresses that grows, filled and asked. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct entry {
  uint64_t key, count;
};

static struct entry *entries;
static size_t capacity = 16, used;

static uint64_t hash(uint64_t key) {
  key ^= key >> 31;
  key *= 0x7fb5d329728ea185u;
  return key ^ key >> 27;
}

static struct entry *find(uint64_t key) {
  size_t at = hash(key) & (capacity - 1);
  while (entries[at].key != 0 && entries[at].key != key)
    at = (at + 1) & (capacity - 1);
  return &entries[at];
}

static void grow(void) {
  struct entry *old = entries;
  size_t end = capacity;
  capacity *= 2;
  entries = calloc(capacity, sizeof *entries);
  for (size_t i = 0; i < end; i++)
    if (old[i].key != 0)
      *find(old[i].key) = old[i];
  free(old);
}

static void add(uint64_t key) {
  struct entry *entry = find(key);
  if (entry->key == 0) {
    if (++used * 2 > capacity) {
      grow();
      entry = find(key);
    }
    entry->key = key;
  }
  entry->count++;
}

int main(void) {
  entries = calloc(capacity, sizeof *entries);
  uint64_t seed = 1, most = 0;
  for (int i = 0; i < 80000000; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    add((seed >> 40) % 40000 + 1);
  }
  for (size_t i = 0; i < capacity; i++)
    if (entries[i].count > most)
      most = entries[i].count;
  printf("%zu %llu\n", used, (unsigned long long)most);
  return 0;
}
