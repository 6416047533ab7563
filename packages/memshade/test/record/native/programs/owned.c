/* Touches known numbers of lines of different owners: gcc -O1 -pthread owned.c -o owned

   owned blocks: 3000 lines of a large block, 1000 blocks of 32 bytes in lines of their own, 500 lines of static data, 400 of a file that is
   mapped, 200 of the stack and 700 of a range that the program maps.
   owned brief: the same once, so that it is over before anybody has looked at it.
   owned ended: blocks of two functions that live for a moment.
   owned threads: the same in 8 threads. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))
#define FILE_NAME "owned.txt"

APART static volatile char *first(long bytes) { return aligned_alloc(64, (bytes + 63) / 64 * 64); }
APART static volatile char *second(long bytes) { return malloc(bytes); }
APART static volatile char *map_anonymous(long bytes) {
  return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

APART static void write_lines(volatile char *at, long count) {
  for (long i = 0; i < count; i++)
    at[i * 64] = 1;
}

APART static long read_lines(volatile char *at, long count) {
  long sum = 0;
  for (long i = 0; i < count; i++)
    sum += at[i * 64];
  return sum;
}

static char table[500 * 64];

static void *moments(void *unused) {
  for (long i = 0; i < 4000; i++) {
    volatile char *one = first(640), *other = second(2000);
    write_lines(one, 10);
    write_lines(other, 31);
    free((void *)one);
    free((void *)other);
  }
  return unused;
}

static pthread_barrier_t all;

/* No thread has memory of one that has ended before it. */
static void *moments_together(void *unused) {
  pthread_barrier_wait(&all);
  moments(unused);
  pthread_barrier_wait(&all);
  return unused;
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  int is_brief = strcmp(how, "brief") == 0;
  if (strcmp(how, "blocks") == 0 || is_brief) {
    volatile char stack[200 * 64];
    int file = open(FILE_NAME, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (ftruncate(file, 400 * 64) != 0)
      return 1;
    volatile char *mapped = mmap(NULL, 400 * 64, PROT_READ, MAP_PRIVATE, file, 0);
    volatile char *anonymous = map_anonymous(700 * 64);
    volatile char *large = first(3000 * 64);
    volatile char *small[1000];
    for (long i = 0; i < 1000; i++)
      small[i] = second(56);
    long sum = 0;
    for (long turn = 0; turn < (is_brief ? 1 : 10000); turn++) {
      write_lines(large, 3000);
      for (long i = 0; i < 1000; i++)
        small[i][0] = 1;
      write_lines(table, 500);
      sum += read_lines(mapped, 400);
      write_lines(stack, 200);
      write_lines(anonymous, 700);
    }
    unlink(FILE_NAME);
    if (sum != 0)
      return 1;
  } else if (strcmp(how, "ended") == 0)
    moments(NULL);
  else {
    pthread_t threads[8];
    pthread_barrier_init(&all, NULL, 8);
    for (int i = 0; i < 8; i++)
      pthread_create(&threads[i], NULL, moments_together, NULL);
    for (int i = 0; i < 8; i++)
      pthread_join(threads[i], NULL);
  }
  puts("done");
  return 0;
}
