// As many live blocks as the first argument says, of as many bytes as the second one says. Ends with 7.
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words) {
  long blocks = count > 2 ? atol(words[1]) : 0;
  void **last = NULL;
  for (long i = 0; i < blocks; i++) {
    void **block = malloc(atol(words[2]));
    *block = last;
    last = block;
  }
  printf("%d\n", last != NULL);
  return 7;
}
