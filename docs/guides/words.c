// A word counter for docs/guides/my-native-program-leaks.md: it forgets the line that it splits.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct word {
  char *text;
  int count;
  struct word *next;
};

static struct word *words;

static char *copy_line(const char *line) {
  char *copy = malloc(strlen(line) + 1);
  return strcpy(copy, line);
}

static void count_word(const char *text) {
  for (struct word *word = words; word != NULL; word = word->next)
    if (strcmp(word->text, text) == 0) {
      word->count++;
      return;
    }
  struct word *word = malloc(sizeof *word);
  *word = (struct word){strdup(text), 1, words};
  words = word;
}

static void count_line(const char *line) {
  char *copy = copy_line(line);
  for (char *text = strtok(copy, " "); text != NULL; text = strtok(NULL, " ")) count_word(text);
}

int main(void) {
  char line[80];
  for (int i = 0; i < 3000; i++) {
    snprintf(line, sizeof line, "order %d of customer %d is paid", i % 50, i % 7);
    count_line(line);
  }
  int sum = 0;
  for (struct word *word = words; word != NULL; word = word->next) sum += word->count;
  printf("%d words\n", sum);
}
