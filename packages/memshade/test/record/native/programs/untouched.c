// Large blocks of which next to nothing is touched. The argument says which; prints the most memory that the process has had, in KiB, what
// somebody else has in it for profiling included.
#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GIB (1ul << 30)

static char *volatile kept;

static char *keep(void *block) { return kept = block; }

static char *touched(char *block, size_t at) {
  block[at] = 1;
  return block;
}

static void use(int which) {
  char *p, *q;
  switch (which) {
  case 0: free(keep(malloc(GIB))); break;
  case 1: touched(keep(malloc(GIB)), 0); break;
  case 2: free(touched(keep(calloc(1, GIB)), 0)); break;
  case 3: p = touched(keep(malloc(GIB)), 0); free(touched(keep(realloc(p, GIB + 4096)), 1)); break;
  case 4: p = keep(malloc(GIB)); for (size_t at = 0; at < GIB; at += GIB / 16) p[at] = 1; free(p); break;
  case 5: p = touched(keep(malloc(GIB)), 0); free(keep(realloc(p, 4096))); break;
  case 6:
    p = touched(keep(malloc(GIB / 2)), 0);
    q = touched(keep(malloc(100)), 0);
    free(touched(keep(realloc(p, GIB)), 1));
    free(q);
    break;
  case 7: p = keep(malloc(GIB)); memset(p, 1, 1 << 20); q = keep(malloc(1 << 20)); memcpy(q, p, 1 << 20); free(q); free(p); break;
  // Ends and beginnings at any distance from a page's.
  case 8: for (size_t more = 1; more < 4096; more = 3 * more + 5) free(keep(malloc(GIB + more))); break;
  case 9: free(keep(memalign(1 << 21, GIB))); break;
  // Of memory that is the program's already.
  case 10:
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, -1);
    for (int i = 0; i < 20; i++) {
      p = keep(malloc(GIB / 4 + i * 100));
      q = keep(malloc(100));
      free(p);
      free(q);
    }
    break;
  // Blocks of sizes that the allocator does not map.
  case 11:
    for (size_t size = 32 << 10; size < 128 << 10; size += 200) {
      keep(malloc(size));
      free(keep(memalign(64, size)));
      keep(realloc(NULL, size));
    }
    break;
  case 12: p = NULL; for (size_t size = 1 << 20; size <= GIB; size += 16 << 20) p = touched(keep(realloc(p, size)), 0); free(p); break;
  }
}

int main(int count, char **words) {
  use(count > 1 ? atoi(words[1]) : 0);
  FILE *status = fopen("/proc/self/status", "r");
  char line[200];
  while (fgets(line, sizeof line, status))
    if (strncmp(line, "VmHWM:", 6) == 0) printf("%d\n", atoi(line + 6));
  return 0;
}
