// gcc -g -O1 -pthread races.c -o races
// 8 threads add to the same 8 words of a block of 64 bytes, 200,000 times each, and allocate: 20,000 blocks of 80 bytes each, in which
// they write one word and read it. A copy of the process then writes to the block, which is no access of this one.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *worker(void *shared) {
  volatile uint64_t *words = shared;
  for (int i = 0; i < 200000; i++) {
    words[i & 7]++;
    if (i % 10 == 0) {
      volatile uint64_t *own = malloc(80);
      own[3] = i;
      words[own[3] & 7] = i;
      free((void *)own);
    }
  }
  return 0;
}

int main(void) {
  volatile uint64_t *shared = malloc(64), *before = malloc(96);
  pthread_t threads[8];
  for (int i = 0; i < 8; i++) pthread_create(threads + i, 0, worker, (void *)shared);
  for (int i = 0; i < 8; i++) pthread_join(threads[i], 0);
  before[1] = 1;
  pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 1000; i++) before[i & 7] = i;
    free(malloc(10));
    for (int i = 0; i < 1000; i++) before[i & 7] = i;
    _exit(0);
  }
  waitpid(child, 0, 0);
  puts("done");
  return 0;
}
