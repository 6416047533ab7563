/* The sieve of Eratosthenes, a byte per number. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { END = 2000000, TIMES = 200 };

int main(void) {
  char *composite = malloc(END);
  long primes = 0;
  for (int time = 0; time < TIMES; time++) {
    memset(composite, 0, END);
    for (long i = 2; i < END; i++) {
      if (composite[i])
        continue;
      primes++;
      for (long j = i * i; j < END; j += i)
        composite[j] = 1;
    }
  }
  printf("%ld\n", primes / TIMES);
  return 0;
}
