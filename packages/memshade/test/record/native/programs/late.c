// gcc -g -O1 late.c -o late
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **args) {
  void *library = dlopen(args[1], RTLD_NOW);
  if (library == 0) return 3;
  void (*outer)(void) = (void (*)(void))dlsym(library, "outer");
  outer();
  puts("ready");
  fflush(stdout);
  getchar();
  outer();
  return 0;
}
