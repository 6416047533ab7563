// As many live blocks as the argument says, each on a path of its own: there are 2 to the power of 17. Ends with 3.
#include <stdio.h>
#include <stdlib.h>

static void *level0(unsigned path) {
  void *volatile block = malloc(24);
  return block;
}

#define LEVEL(name, next)                                        \
  __attribute__((noinline)) static void *name(unsigned path) {   \
    void *volatile block;                                        \
    if (path & 1)                                                \
      block = next(path >> 1);                                   \
    else                                                         \
      block = next(path >> 1);                                   \
    return block;                                                \
  }

LEVEL(level1, level0) LEVEL(level2, level1) LEVEL(level3, level2) LEVEL(level4, level3) LEVEL(level5, level4)
LEVEL(level6, level5) LEVEL(level7, level6) LEVEL(level8, level7) LEVEL(level9, level8) LEVEL(level10, level9)
LEVEL(level11, level10) LEVEL(level12, level11) LEVEL(level13, level12) LEVEL(level14, level13) LEVEL(level15, level14)
LEVEL(level16, level15) LEVEL(level17, level16)

int main(int count, char **words) {
  long blocks = count > 1 ? atol(words[1]) : 0;
  long sum = 0;
  for (long i = 0; i < blocks; i++) sum += level17(i) != NULL;
  printf("%ld\n", sum);
  return 3;
}
