/* Text of words that repeat, with numbers between, of exactly so many bytes. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *make_text(size_t bytes) {
  static const char *const words[] = {"amber", "basin", "cedar", "delta", "ember", "field", "grove", "harbor", "island",
                                      "juniper", "kettle", "lantern", "meadow", "north", "orchard", "pebble", "quarry",
                                      "river", "stone", "timber", "under", "valley", "willow", "yellow", "zephyr"};
  char *text = malloc(bytes + 32);
  uint32_t state = 7;
  size_t at = 0;
  while (at < bytes) {
    state = state * 1664525u + 1013904223u;
    uint32_t draw = state >> 8;
    if (draw % 11 == 0) at += (size_t)sprintf(text + at, "%u", draw % 10000);
    else {
      const char *word = words[(draw >> 4) % 25];
      memcpy(text + at, word, strlen(word));
      at += strlen(word);
    }
    text[at++] = draw % 13 == 0 ? '.' : ' ';
    if (draw % 67 == 0) text[at++] = '\n';
  }
  return text;
}
