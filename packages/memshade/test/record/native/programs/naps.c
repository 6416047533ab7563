// gcc -g -O1 naps.c -o naps
#include <stdlib.h>
#include <unistd.h>

static void *volatile kept;

static __attribute__((noinline)) void *brief(void) { return malloc(100); }
static __attribute__((noinline)) void *longer(void) { return malloc(2000); }

int main(void) {
  void *first = brief();
  void *second = longer();
  kept = malloc(64);
  usleep(60000);
  free(first);
  usleep(40000);
  free(second);
  usleep(50000);
  return 0;
}
