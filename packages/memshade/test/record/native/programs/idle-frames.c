#include <stdlib.h>
#include <string.h>

#ifndef FRAMES
#define FRAMES 60
#endif

/* Frames: each is filled, summed up once, and never used again; all are freed at the end. CALLS small allocations come between two. */
static unsigned char *frame[FRAMES];

int main(void) {
  unsigned sum = 0;
  for (unsigned k = 0; k < FRAMES; k++) {
    unsigned char *pixels = frame[k] = malloc(65536);
    memset(pixels, k, 65536);
    for (unsigned i = 0; i < 65536; i++) pixels[i] += i;
    for (unsigned i = 0; i < 65536; i++) sum = sum * 3 + pixels[i];
    for (unsigned c = 0; c < CALLS; c++) {
      char *volatile name = malloc(20);
      name[0] = 1;
      sum += name[0];
      free(name);
    }
  }
  for (unsigned k = 0; k < FRAMES; k++) free(frame[k]);
  return sum == 1;
}
