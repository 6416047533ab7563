// Known patterns of stores and loads, N rounds each, argv[1]. Every function is told by its name.
#include <immintrin.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define APART __attribute__((noinline))
#define KEEP __asm__ volatile("" ::: "memory")

APART void dead1(volatile uint8_t *p, long n) { for (long i = 0; i < n; i++) p[0] = i; }
APART void dead2(volatile uint16_t *p, long n) { for (long i = 0; i < n; i++) p[0] = i; }
APART void dead4(volatile uint32_t *p, long n) { for (long i = 0; i < n; i++) p[0] = i; }
APART void dead8(volatile uint64_t *p, long n) { for (long i = 0; i < n; i++) p[0] = i; }
APART void dead16(__m128i *p, long n) { for (long i = 0; i < n; i++) { *(volatile __m128i *)p = _mm_set1_epi32(i); KEEP; } }
APART void silent4(volatile uint32_t *p, long n) { for (long i = 0; i < n; i++) { p[0] = 7; (void)p[0]; } }
APART void silent16(__m128i *p, long n) { for (long i = 0; i < n; i++) { *(volatile __m128i *)p = _mm_set1_epi32(9); (void)*(volatile __m128i *)p; KEEP; } }
APART void set1(volatile uint8_t *p, long n) { for (long i = 0; i < n; i++) { __asm__ volatile("cmp %0, %0; sete (%1)" :: "r"(i), "r"(p) : "cc", "memory"); (void)p[0]; } }
APART void besideMask(volatile uint32_t *p, long i) { p[3] = i; }
__attribute__((noinline, target("avx2"))) static void masked(int *p) { _mm_maskstore_epi32(p, _mm_setr_epi32(-1, 0, -1, 0), _mm_set1_epi32(5)); }
APART void besideMasks(int *p, long n) {
  for (long i = 0; i < n; i++) { besideMask((void *)p, i); if (__builtin_cpu_supports("avx2")) masked(p); (void)((volatile int *)p)[3]; }
}
APART void mixed4(volatile uint8_t *p, long i) { *(volatile uint32_t *)p = i; }
APART void mixed8(volatile uint8_t *p, long i) { *(volatile uint64_t *)p = i * 3; }
APART void mixed(volatile uint8_t *p, long n) { for (long i = 0; i < n; i++) { mixed4(p, i); (void)p[1]; mixed8(p, i); } }
APART uint64_t again(volatile uint64_t *p, long n) { uint64_t s = 0; for (long i = 0; i < n; i++) s += p[0]; return s; }
APART void update(volatile uint32_t *p, long n) { for (long i = 0; i < n; i++) p[0] += 3; }
APART void unread(char *p) { *(volatile uint64_t *)p = 5; }
APART void freed(long n) { for (long i = 0; i < n; i++) { char *p = malloc(40); unread(p); free(p); } }
APART void fillBlock(char *p, long n, int with) { __asm__ volatile("rep stosb" : "+D"(p), "+c"(n) : "a"(with) : "memory"); }
APART void filled(char *p, long n) { for (long i = 0; i < n; i++) fillBlock(p, 100, i); }
APART void toKernel(volatile char *p, long i) { *(volatile uint32_t *)p = i; }
APART void told(char *p, long n, int file) { for (long i = 0; i < n; i++) { toKernel(p, i); if (write(file, p, 4) < 0) abort(); } }
APART void local(volatile uint64_t *p, long i) { p[0] = i; }
APART void locals(long n) { for (long i = 0; i < n; i++) { uint64_t here[4]; local(here, i); KEEP; } }
APART void mine(volatile uint64_t *p, long n) { for (long i = 0; i < n; i++) p[0] = i; }

// Blocks that grow: by a copy, by moving pages, in place. What was read is not dead when it moves; what moves unread ends with its block.
APART void moved(volatile uint64_t *p) { p[0] = 5; }
APART void paged(volatile uint64_t *p) { p[0] = 5; }
APART void readLater(volatile uint64_t *p) { p[0] = 5; }
APART void cut(volatile uint64_t *p) { p[0] = 5; }
APART void grown(long n) {
  for (long i = 0; i < n; i++) {
    char *p = malloc(40), *behind = malloc(40);
    moved((void *)p);
    p = realloc(p, 400);
    free(p);
    free(behind);
    p = malloc(400);
    cut((void *)(p + 200));
    free(realloc(p, 100));
  }
  for (long i = 0; i < n / 100; i++) {
    char *block = malloc(256 << 10), *behind = malloc(256 << 10);
    paged((void *)block);
    readLater((void *)(block + 64));
    block = realloc(block, 64 << 20);
    again((void *)(block + 64), 1);
    free(block);
    free(behind);
  }
}

static long rounds;
static uint32_t numbers[64];

static void *work(void *at) { mine(at, rounds); return NULL; }

int main(int count, char **words) {
  long n = rounds = atol(words[1]);
  char *m = aligned_alloc(64, 4096);
  for (int i = 0; i < 4096; i += 8) *(volatile uint64_t *)(m + i) = 0x0101010101010101;
  for (int i = 0; i < 4096; i += 8) (void)*(volatile uint64_t *)(m + i);
  dead1((void *)m, n);
  dead2((void *)(m + 64), n);
  dead4(numbers, n);
  dead8((void *)(m + 192), n);
  dead16((void *)(m + 256), n);
  silent4((void *)(m + 320), n);
  silent16((void *)(m + 384), n);
  set1((void *)(m + 704), n);
  besideMasks((void *)(m + 768), n);
  mixed((void *)(m + 448), n);
  update((void *)(m + 512), n);
  filled(m + 1024, n);
  freed(n);
  int pipes[2];
  if (pipe(pipes)) return 1;
  for (long i = 0; i < n; i++) {
    char got[4];
    told(m + 2048, 1, pipes[1]);
    if (read(pipes[0], got, 4) != 4) return 2;
  }
  locals(n);
  grown(n);
  pthread_t threads[8];
  for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, work, m + 3072 + 64 * i);
  for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
  return again((void *)(m + 576), n) == 0;
}
