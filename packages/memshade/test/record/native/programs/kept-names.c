/* Leaks blocks from two functions of its own, one of them in a library: gcc -g -O1 -fno-builtin, and with -DLIBRARY -shared -fPIC. */
#include <stdlib.h>

void library_fill(int count);

#ifdef LIBRARY
void library_fill(int count) {
  for (int i = 0; i < count; i++)
    *(char *)malloc(10000) = 1;
}
#else
static void fill(int count) {
  for (int i = 0; i < count; i++)
    *(char *)malloc(4096) = 1;
}

int main(void) {
  fill(500);
  library_fill(300);
  return 0;
}
#endif
