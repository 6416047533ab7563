// Names and lines come from wherever the debug information lies: `make` is inlined, and `grow` has no symbol outside.
#include <stdlib.h>

void *kept[50];

static inline __attribute__((always_inline)) void *make(int i) {
  return malloc(1000 + (i & 1));
}

static __attribute__((noinline)) void grow(int i) {
  kept[i] = make(i);
}

int main(void) {
  for (int i = 0; i < 50; i++) grow(i);
  return 0;
}
