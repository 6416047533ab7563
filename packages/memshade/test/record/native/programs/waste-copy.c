// Copies a page again and again, and reads the last copy: to be compiled without builtins.
#include <stdio.h>
#include <string.h>

static char from[4096], to[4096];

int main(void) {
  memset(from, 7, sizeof from);
  for (int i = 0; i < 1000; i++) {
    char *target = to;
    memcpy(target, from, sizeof from);
  }
  printf("%d\n", to[5]);
  return 0;
}
