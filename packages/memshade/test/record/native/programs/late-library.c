// gcc -g -O1 -fno-inline -fno-optimize-sibling-calls -shared -fPIC late-library.c -o late-library.so
#include <stdlib.h>

static void *volatile kept;

static void inner(void) {
  for (int i = 0; i < 10; i++) kept = malloc(77);
}

void outer(void) {
  inner();
  kept = 0;
}
