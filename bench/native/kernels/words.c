/* Text that is split into words, which are sorted and counted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 300000, TIMES = 6 };

static int compare(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *text(unsigned seed) {
  char *all = malloc(WORDS * 9 + 1), *to = all;
  for (int i = 0; i < WORDS; i++) {
    seed = seed * 1103515245u + 12345;
    for (unsigned rest = seed >> 16 & 0xfff; rest > 0; rest >>= 3)
      *to++ = 'a' + (rest & 7);
    *to++ = ' ';
  }
  *to = 0;
  return all;
}

int main(void) {
  long different = 0;
  for (int time = 0; time < TIMES; time++) {
    char *all = text(time + 1), **words = malloc((WORDS + 1) * sizeof *words);
    size_t count = 0;
    for (char *word = strtok(all, " "); word != NULL; word = strtok(NULL, " "))
      words[count++] = strdup(word);
    qsort(words, count, sizeof *words, compare);
    for (size_t i = 0; i < count; i++)
      different += i == 0 || strcmp(words[i - 1], words[i]) != 0;
    for (size_t i = 0; i < count; i++)
      free(words[i]);
    free(words);
    free(all);
  }
  printf("%ld\n", different);
  return 0;
}
