// Stores that nobody reads before their frame, their mapping or the program ends, argv[1] rounds each. Functions are told by their names.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define APART __attribute__((noinline, noclone, optimize("no-tree-vectorize")))

struct four { int a, b, c, d; };
struct four global;
volatile uint64_t sum;

// Of the sixteen bytes that one instruction clears, twelve are read.
APART void clear(struct four *p) { memset(p, 0, sizeof *p); __asm__ volatile("" : : "r"(p) : "memory"); }
APART void three(volatile struct four *p) { sum += p->a + p->b + p->d; }
APART void records(int n) { for (int i = 0; i < n; i++) { clear(&global); three(&global); } }
APART void localRecord(void) { struct four here; clear(&here); three(&here); }

// Below the stack pointer, in a frame of its own, and in one whose size is known only when it runs.
APART void leaf(uint64_t i) { volatile uint64_t here; here = i; }
APART void framed(uint64_t i) { volatile uint64_t here[40]; here[3] = i; here[5] = i; sum += here[5]; leaf(i); }
APART void sized(uint64_t i, int n) { volatile uint64_t here[n]; here[n / 2] = i; here[1] = i; sum += here[1]; leaf(i); }
APART void argument(volatile uint64_t *p) { p[0] = 3; }
APART void passed(void) { uint64_t here[4]; argument(here); leaf(1); }

APART void keptStatic(volatile uint64_t *p) { p[0] = 1; }
APART void keptBlock(volatile uint64_t *p) { p[0] = 1; }
APART void shared(volatile uint64_t *p) { p[0] = 1; }
APART void unmapped(volatile uint64_t *p) { p[0] = 1; }

int main(int argc, char **argv) {
  int n = atoi(argv[1]);
  static uint64_t here;
  records(n);
  for (int i = 0; i < n; i++) { localRecord(); framed(i); sized(i, 20 + i % 7); passed(); }
  keptStatic(&here);
  volatile uint64_t **kept = malloc(16);
  kept[0] = malloc(64);
  keptBlock(kept[0]);
  volatile uint64_t *file = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  shared(file);
  for (int i = 0; i < n; i++) {
    void *p = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unmapped(p);
    munmap(p, 65536);
  }
  sum += *(uint64_t *)&kept[0];
  return argc - 2;
}
