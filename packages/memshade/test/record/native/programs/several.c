// gcc -g -O1 -fno-inline -pthread several.c -o several
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept;

static void *lost_block(int size) {
  char *block = malloc(size);
  memset(block, 1, size);
  return block;
}

static void *worker(void *unused) {
  for (int i = 0; i < 1000; i++) free(lost_block(10));
  return unused;
}

int main(void) {
  pthread_t threads[4];
  for (int i = 0; i < 50; i++) kept = lost_block(100);
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, worker, 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
  char *grown = malloc(8);
  for (int i = 1; i <= 20; i++) grown = realloc(grown, 1000 * i);
  free(grown);
  printf("%s\n", getenv("LD_PRELOAD") ? "traced" : "clean");
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 500; i++) kept = lost_block(3000);
    _exit(7);
  }
  int status;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}
