// Who calls the functions of the C library that copy and fill: to be compiled without builtins.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 1000 };
static char from[BYTES], to[BYTES], table[BYTES];
static volatile long sum;

static void __attribute__((noinline)) wasteful(int turns) {
  for (int i = 0; i < turns; i++) {
    memcpy(to, from, BYTES);
    from[0] = i;
  }
}

static void __attribute__((noinline)) useful(int turns) {
  for (int i = 0; i < turns; i++) {
    from[1] = i;
    memcpy(to, from, BYTES);
    for (int j = 0; j < BYTES; j++) sum += to[j];
  }
}

static void __attribute__((noinline)) clearing(int turns) {
  for (int i = 0; i < turns; i++) memset(table, i, BYTES);
}

// By way of other functions of the C library.
static void __attribute__((noinline)) printing(FILE *file, int turns) {
  for (int i = 0; i < turns; i++) {
    fwrite(from, 1, BYTES, file);
    rewind(file);
  }
}

int main(int argc, char **argv) {
  int turns = atoi(argv[1]);
  static char buffer[4 * BYTES];
  FILE *file = fopen("/dev/null", "w");
  setvbuf(file, buffer, _IOFBF, sizeof buffer);
  for (int i = 0; i < 10; i++) {
    useful(turns);
    wasteful(turns);
    clearing(turns);
  }
  printing(file, turns);
  return argc > 2 && sum == 1;
}
