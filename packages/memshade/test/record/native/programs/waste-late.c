// Loads a library, argv[1], calls its function that allocates nothing, waits for argv[2] milliseconds, and ends at once.
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
  void *library = dlopen(argv[1], RTLD_NOW);
  void (*outer)(void) = dlsym(library, "outer");
  outer();
  usleep(1000 * atoi(argv[2]));
  _exit(argc - 3);
}
#endif
