// Blocks that the C library fills and copies, of sizes that no others have.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
  char *filled = malloc(100001), *small = malloc(4001), *to = malloc(100003);
  memset(filled, 7, 100001);
  memset(small, 7, 4001);
  memcpy(to, filled, 100001);
  printf("%d\n", memcmp(to, filled, 50001));
  return 0;
}
