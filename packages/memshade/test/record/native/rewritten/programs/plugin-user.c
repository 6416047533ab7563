// Has blocks that nobody uses, and a plug-in (its argument) that uses its own.
// gcc -g -O1 plugin-user.c -o plugin-user
#include <dlfcn.h>
#include <stdlib.h>

char *unused[50];

int main(int count, char **arguments) {
  for (int i = 0; i < 50; i++) unused[i] = malloc(2000);
  void *plugin = dlopen(arguments[count - 1], RTLD_NOW);
  ((void (*)(void))dlsym(plugin, "fill"))();
  char **filled = dlsym(plugin, "filled");
  for (int i = 0; i < 100; i++) free(filled[i]);
  for (int i = 0; i < 50; i++) free(unused[i]);
  return 0;
}
