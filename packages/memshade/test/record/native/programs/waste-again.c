// Loads a library, argv[1], several times beside each other, calls its function each time, and waits for argv[2] milliseconds.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef LIBRARY
static uint64_t kept;
void outer(void) {
  for (int i = 0; i < 10; i++) *(volatile uint64_t *)&kept = i;
}
#else
int main(int argc, char **argv) {
  for (int i = 0; i < 5; i++) {
    void *library = dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW);
    void (*outer)(void) = dlsym(library, "outer");
    outer();
  }
  usleep(1000 * atoi(argv[argc - 1]));
}
#endif
