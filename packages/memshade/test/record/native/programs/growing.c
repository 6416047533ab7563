// Touches as many MiB as the argument says, several times, allocates and frees meanwhile, and ends with 9. Without an argument it says its process
// id and waits for the end of its input.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **words) {
  long bytes = (count > 1 ? atol(words[1]) : 1) << 20;
  unsigned char *block = malloc(bytes);
  unsigned sum = 0;
  for (int round = 0; round < 3; round++) {
    for (long at = 0; at < bytes; at += 64) block[at] = at + round;
    for (long at = 0; at < bytes; at += 64) sum += block[at];
    for (int i = 0; i < 1000; i++) {
      int *small = malloc(100);
      *small = i;
      sum += *small;
      free(small);
    }
  }
  if (count == 1) {
    printf("%d\n", getpid());
    fflush(stdout);
    while (getchar() != EOF) {
    }
  } else
    printf("%u\n", sum);
  return 9;
}
