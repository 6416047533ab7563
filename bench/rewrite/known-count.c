/* Does a known number of accesses of the heap, of its stack and of static data, and prints what the inserted counters say of
   them. SHADOW and ROUNDS are defined by check-counters.ts, which builds it. It crashes where nobody mapped the counters. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static volatile uint64_t fixed;

static uint64_t counted(const volatile void *from, int words) {
  uint64_t sum = 0;
  for (int i = 0; i < words; i++)
    sum += *(volatile uint32_t *)(SHADOW + (((uintptr_t)from >> 3) + i) * 4) +
           *(volatile uint32_t *)(SHADOW + 0x1a40 + ((((uintptr_t)from >> 3) + i) ^ 1ul << 42) * 4);
  return sum;
}

int main(void) {
  volatile uint64_t *words = aligned_alloc(64, 64);
  volatile uint64_t local = 0;
  uint64_t heap = counted(words, 8), stack = counted(&local, 1), statics = counted(&fixed, 1);
  for (long i = 0; i < ROUNDS; i++) {
    local = words[0];
    words[3] = i;
    words[5]++;
    fixed++;
    if (i & 1)
      ((volatile uint8_t *)words)[i & 63] = 1;
  }
  printf("%lu %lu %lu\n", counted(words, 8) - heap, counted(&local, 1) - stack, counted(&fixed, 1) - statics);
}
