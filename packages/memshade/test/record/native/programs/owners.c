/* Works on blocks of several functions, some of which end or grow meanwhile. gcc -O1 owners.c -o owners

   Each block is told to `note` when it has begun, with the number of the function, and to `drop` when it is about to end: a tracer sees
   their arguments. With STEPPED, it stops where `main` begins. */
#include <stdio.h>
#include <stdlib.h>

#define APART __attribute__((noinline, noclone))
APART void note(void *at, long bytes, long function) {
  __asm__ volatile("" : : "r"(at), "r"(bytes), "r"(function) : "memory");
}
APART void drop(void *at) { __asm__ volatile("" : : "r"(at) : "memory"); }

APART static volatile char *small(void) {
  void *at = malloc(40);
  note(at, 40, 0);
  return at;
}
APART static volatile char *medium(void) {
  void *at = malloc(104);
  note(at, 104, 1);
  return at;
}
APART static volatile char *large(long bytes) {
  void *at = malloc(bytes);
  note(at, bytes, 2);
  return at;
}
APART static volatile char *temporary(void) {
  void *at = malloc(3000);
  note(at, 3000, 3);
  return at;
}
APART static volatile char *grow(volatile char *before, long bytes) {
  drop((void *)before);
  void *at = realloc((void *)before, bytes);
  note(at, bytes, 4);
  return at;
}

APART static void touch(volatile char *at, long bytes) {
  for (long i = 0; i < bytes; i += 64)
    at[i] = 1;
}

static volatile char *smalls[100], *mediums[100];
static char table[64 * 200];

int main(void) {
#ifdef STEPPED
  __asm__ volatile("int3");
#endif
  volatile char *one = large(20000), *other = large(150000);
  for (long i = 0; i < 100; i++) {
    smalls[i] = small();
    mediums[i] = medium();
  }
  volatile char *grown = grow(NULL, 500);
  for (long pass = 1; pass < 9; pass++) {
    for (long i = 0; i < 100; i += 1 + pass % 3)
      touch(smalls[i], 40);
    touch(one, 20000);
    for (long i = 0; i < 20; i++) {
      volatile char *short_lived = temporary();
      touch(short_lived, 150 * i);
      drop((void *)short_lived);
      free((void *)short_lived);
    }
    for (long i = 0; i < 100; i += 2)
      touch(mediums[i], 104);
    touch(other + 1000 * pass, 40000);
    grown = grow(grown, 500 + 300 * pass);
    touch(grown, 500 + 300 * pass);
    touch(table, sizeof table);
  }
  puts("done");
  return 0;
}
