// A plug-in that fills its blocks.
// gcc -g -O1 -shared -fPIC plugin.c -o plugin.so
#include <stdlib.h>

char *filled[100];

void fill(void) {
  for (int i = 0; i < 100; i++) {
    filled[i] = malloc(1000);
    for (int byte = 0; byte < 1000; byte++) ((volatile char *)filled[i])[byte] = i;
  }
}
