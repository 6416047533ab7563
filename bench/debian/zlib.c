/* Text compressed by zlib at levels 1 and 6, and decompressed again.
   usage: zlib BYTES */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"
#include "zlib.h"

int main(int argc, char **argv) {
  size_t bytes = argc > 1 ? (size_t)atol(argv[1]) : 100000;
  uLong bound = compressBound(bytes);
  char *text = make_text(bytes), *restored = malloc(bytes);
  unsigned char *packed = malloc(bound);
  for (int level = 1; level <= 6; level += 5) {
    uLongf size = bound, length = bytes;
    if (compress2(packed, &size, (unsigned char *)text, bytes, level) != Z_OK ||
        uncompress((unsigned char *)restored, &length, packed, size) != Z_OK || memcmp(text, restored, bytes) != 0) {
      puts("zlib: not restored");
      return 1;
    }
    printf("zlib level %d: %zu bytes to %lu\n", level, bytes, (unsigned long)size);
  }
  free(text), free(packed), free(restored);
  return 0;
}
