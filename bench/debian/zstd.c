/* Text compressed by zstd at levels 1, 4 and 7, and decompressed again.
   usage: zstd BYTES */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"
#include "zstd.h"

int main(int argc, char **argv) {
  size_t bytes = argc > 1 ? (size_t)atol(argv[1]) : 100000, bound = ZSTD_compressBound(bytes);
  char *text = make_text(bytes), *packed = malloc(bound), *restored = malloc(bytes);
  for (int level = 1; level <= 7; level += 3) {
    size_t size = ZSTD_compress(packed, bound, text, bytes, level);
    if (ZSTD_isError(size) || ZSTD_decompress(restored, bytes, packed, size) != bytes || memcmp(text, restored, bytes) != 0) {
      puts("zstd: not restored");
      return 1;
    }
    printf("zstd level %d: %zu bytes to %zu\n", level, bytes, size);
  }
  free(text), free(packed), free(restored);
  return 0;
}
