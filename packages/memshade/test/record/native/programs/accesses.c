// gcc -g -O1 -pthread accesses.c -o accesses
// Blocks of different sizes, each with accesses of a kind: of how many bytes, and how many there are, is the same at every level of
// optimisation. What they are is in the tests. With an argument it ends by SIGKILL.
#include <emmintrin.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

static NOINLINE void *block(size_t bytes) {
  void *at = malloc(bytes);
  if (at == 0) exit(1);
  return at;
}

static NOINLINE void stores(volatile uint64_t *at, int n) {
  for (int i = 0; i < n; i++) at[i] = i;
}
static NOINLINE uint64_t loads(const volatile uint32_t *at, int n) {
  uint64_t sum = 0;
  for (int i = 0; i < n; i++) sum += at[i];
  return sum;
}
static NOINLINE void vectors(volatile __m128i *at, int n) {
  for (int i = 0; i < n; i++) at[i] = _mm_set1_epi32(i);
}
static NOINLINE void masked(char *at, int n) {
  for (int i = 0; i < n; i++) _mm_maskmoveu_si128(_mm_set1_epi32(i), _mm_set1_epi8(-1), at + 16 * i);
}
static NOINLINE void strings(char *at, long n) {
  long count = n;
  char *to = at;
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(7) : "memory");
}
static NOINLINE void copies(char *to, const char *from, long n) {
  __asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}
static NOINLINE int scans(const char *at, long n) {
  unsigned char found;
  __asm__ volatile("repne scasb; sete %0" : "=r"(found), "+D"(at), "+c"(n) : "a"(9) : "memory", "cc");
  return found;
}
static NOINLINE int compares(const char *a, const char *b, long n) {
  unsigned char equal;
  __asm__ volatile("repe cmpsb; sete %0" : "=r"(equal), "+D"(a), "+S"(b), "+c"(n) : : "memory", "cc");
  return equal;
}
static NOINLINE void atomics(uint64_t *at, int n) {
  for (int i = 0; i < n; i++) __atomic_fetch_add(at, 1, __ATOMIC_SEQ_CST);
  for (int i = 0; i < n; i++) __atomic_exchange_n(at + 1, i, __ATOMIC_SEQ_CST);
}
/* The carry is live at each access, and so are most registers. */
static NOINLINE uint64_t carries(uint64_t *to, const uint64_t *from) {
  uint64_t rest;
  __asm__ volatile(
      "xor %%eax, %%eax\n\t"
      "mov (%1), %%rax; add %%rax, (%2)\n\t"
      "mov 8(%1), %%rax; adc %%rax, 8(%2)\n\t"
      "mov 600(%1), %%rax; adc %%rax, 600(%2)\n\t"
      "mov 1200(%1), %%rax; adc %%rax, 1200(%2)\n\t"
      "mov $0, %%eax; adc $0, %%rax; mov %%rax, %0"
      : "=&r"(rest)
      : "r"(from), "r"(to)
      : "rax", "memory", "cc");
  return rest;
}
/* Labels lie in data, which their addresses are read from. */
static NOINLINE uint64_t steps(volatile uint64_t *at, const unsigned char *code) {
  static const void *labels[] = {&&add, &&copy, &&end};
  goto *labels[*code++];
add:
  at[0] += 1;
  goto *labels[*code++];
copy:
  at[1] = at[0];
  goto *labels[*code++];
end:
  return at[1];
}
static void *worker(void *at) {
  for (int i = 0; i < 10000; i++) ((volatile uint64_t *)at)[i & 7]++;
  return 0;
}

int main(int count, char **args) {
  (void)args;
  uint64_t *stored = block(1000);
  stores(stored, 100);
  stores(stored, 100);
  uint32_t *loaded = calloc(1, 2000);
  uint64_t sum = loads(loaded, 500);
  vectors(block(3008), 100);
  masked(block(1888), 60);
  char *filled = block(4001);
  strings(filled, 3999);
  char *copied = block(5000);
  copies(copied, filled, 400);
  sum += scans(copied, 100);
  char *one = block(601), *other = block(602);
  strings(one, 601);
  strings(other, 602);
  one[300] = 1;
  sum += compares(one, other, 600);
  uint64_t *counted = block(48);
  atomics(counted, 1000);
  uint64_t *from = calloc(1, 1500), *to = calloc(1, 1501);
  from[0] = ~0ull;
  to[0] = 1;
  sum += carries(to, from) + to[1];
  unsigned char code[101];
  for (int i = 0; i < 100; i++) code[i] = i & 1;
  code[100] = 2;
  sum += steps(block(99), code);
  // What a reallocation does is no access.
  uint64_t *grown = block(160000);
  stores(grown, 1000);
  grown = realloc(grown, 900000);
  stores(grown, 10);
  grown = realloc(grown, 170);
  stores(grown, 20);
  free(grown);
  // Much memory, of which little is used.
  volatile uint64_t *sparse = block(1 << 30);
  sparse[5] = 1;
  sparse[100000000] = 2;
  free((void *)sparse);
  volatile uint64_t *lives = block(1 << 28);
  lives[20000000] = 3;
  pthread_t threads[8];
  for (int i = 0; i < 8; i++) pthread_create(threads + i, 0, worker, block(72));
  for (int i = 0; i < 8; i++) pthread_join(threads[i], 0);
  free(stored);
  printf("%lu\n", sum);
  fflush(stdout);
  if (count > 1) raise(SIGKILL);
  return 0;
}
