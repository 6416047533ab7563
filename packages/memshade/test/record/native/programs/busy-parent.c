/* Works with 4 MB of blocks of its own, and starts another program once. */
#include <stdlib.h>
#include <string.h>

int main(void) {
  long sum = 0;
  for (int i = 0; i < 40; i++) {
    char *block = malloc(100000);
    memset(block, i, 100000);
    sum += block[i];
    free(block);
  }
  return system("true") + (sum != 780);
}
