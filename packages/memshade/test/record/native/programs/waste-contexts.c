// One function stores for three others: nobody reads it, somebody reads it, it is there already; argv[1] times each in a hundred rounds. With
// argv[2], the program waits for a line and is ended by a signal.
#include <stdlib.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#define APART __attribute__((noinline, noclone))
volatile uint64_t sum;
APART void put(volatile uint64_t *p, uint64_t v) { p[0] = v; __asm__ volatile("" ::: "memory"); }
APART uint64_t get(volatile uint64_t *p) { return p[0]; }
APART void wasteful(volatile uint64_t *p, int n) { for (int i = 0; i < n; i++) put(p, i); __asm__ volatile("" ::: "memory"); }
APART void useful(volatile uint64_t *p, int n) { for (int i = 0; i < n; i++) { put(p, i); sum += get(p); } __asm__ volatile("" ::: "memory"); }
APART void silent(volatile uint64_t *p, int n) { for (int i = 0; i < n; i++) { put(p, 7); sum += get(p); } __asm__ volatile("" ::: "memory"); }
int main(int argc, char **argv) {
  int n = atoi(argv[1]);
  uint64_t *p = malloc(64);
  for (int round = 0; round < 100; round++) {
    wasteful(p, n);
    useful(p + 1, 3 * n);
    silent(p + 2, n);
  }
  if (argc > 2) {
    puts("ready");
    fflush(stdout);
    getchar();
    kill(getpid(), SIGKILL);
  }
  return 0;
}
