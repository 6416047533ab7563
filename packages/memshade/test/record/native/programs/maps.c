// gcc -g -O1 maps.c -o maps
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define KIB 1024L

static __attribute__((noinline)) char *map(size_t bytes) {
  char *start = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) exit(1);
  return start;
}

int main(void) {
  char *whole = map(100 * KIB);
  munmap(whole, 100 * KIB);
  char *trimmed = map(1000 * KIB);
  munmap(trimmed, 100 * KIB);
  munmap(trimmed + 900 * KIB, 100 * KIB);
  munmap(trimmed + 400 * KIB, 200 * KIB);
  char *moved = mremap(map(64 * KIB), 64 * KIB, 640 * KIB, MREMAP_MAYMOVE);
  if (moved == MAP_FAILED) return 2;
  // What fails changes nothing, and says why as ever.
  if (mremap(moved, 640 * KIB, 1L << 50, 0) != MAP_FAILED || errno == 0) return 3;
  if (munmap((void *)1, 5) != -1 || errno != EINVAL) return 4;
  char *over = map(40 * KIB);
  if (mmap(over + 8 * KIB, 4 * KIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
    return 5;
  // The C library maps this one itself, and it is a block already.
  void *volatile large = malloc(1 << 20);
  free(large);
  char *reserved = mmap(0, 1L << 36, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return 6;
  munmap(reserved, 1L << 36);
  return 0;
}
