/* Each function of the C library that hands out blocks is asked for one of 0 bytes. */
#include <malloc.h>
#include <new>
#include <stdlib.h>

static void *volatile kept[10];

int main() {
  void *aligned = nullptr;
  if (posix_memalign(&aligned, 64, 0) != 0) return 1;
  kept[0] = malloc(0);
  kept[1] = calloc(0, 8);
  kept[2] = calloc(8, 0);
  kept[3] = realloc(nullptr, 0);
  kept[4] = reallocarray(nullptr, 8, 0);
  kept[5] = aligned_alloc(64, 0);
  kept[6] = memalign(64, 0);
  kept[7] = new char[0];
  kept[8] = ::operator new(0, std::align_val_t(64));
  kept[9] = aligned;
  /* The C library frees the block for that. */
  return realloc(malloc(10), 0) == nullptr ? 0 : 1;
}
