/* Touches known numbers of cache lines of its heap: gcc -O2 -pthread lines.c -o lines

   lines phases: 1000, 10000 and 100000 lines, each for 0.3 s, first read, then written, then read and written.
   lines passes: 40 times 2000 lines, written once each.
   lines waits: 3000 lines, then reads a character, then 3000 others.
   lines threads: 4 threads with 5000 lines each.
   lines fork: a child that was forked touches 50000 lines of its copy, then this process touches 2000.
   lines kill: 3000 lines, then SIGKILL.
   A second word says how the program ends: it returns, or exit, _exit, abort, trap. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

static volatile char *lines(long count) { return aligned_alloc(4096, count * 64 + 4096 - count * 64 % 4096); }

static void write_all(volatile char *first, long count) {
  for (long i = 0; i < count; i++)
    first[i * 64] = 1;
}

static void end(const char *how) {
  if (strcmp(how, "exit") == 0)
    exit(3);
  if (strcmp(how, "_exit") == 0)
    _exit(3);
  if (strcmp(how, "abort") == 0)
    abort();
  if (strcmp(how, "trap") == 0)
    __builtin_trap();
}

static void *thread(void *all) {
  write_all(all, 5000);
  return NULL;
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  if (strcmp(how, "phases") == 0) {
    static const long counts[] = {1000, 10000, 100000};
    volatile char *all = lines(100000);
    long sum = 0;
    for (int phase = 0; phase < 3; phase++)
      for (double end = now() + 0.3; now() < end;)
        for (long i = 0; i < counts[phase]; i++) {
          if (phase == 0)
            sum += all[i * 64];
          else if (phase == 1)
            all[i * 64] = 1;
          else
            all[i * 64]++;
        }
    printf("%ld\n", sum);
  } else if (strcmp(how, "passes") == 0) {
    volatile char *all = lines(2000);
    for (int pass = 0; pass < 40; pass++)
      write_all(all, 2000);
    printf("done\n");
  } else if (strcmp(how, "waits") == 0) {
    volatile char *all = lines(6000);
    write_all(all, 3000);
    puts("ready");
    fflush(stdout);
    getchar();
    write_all(all + 3000 * 64, 3000);
  } else if (strcmp(how, "threads") == 0) {
    pthread_t threads[4];
    volatile char *all = lines(4 * 5000);
    for (int i = 0; i < 4; i++)
      pthread_create(&threads[i], NULL, thread, (void *)(all + i * 5000 * 64));
    for (int i = 0; i < 4; i++)
      pthread_join(threads[i], NULL);
    printf("done\n");
  } else if (strcmp(how, "fork") == 0) {
    volatile char *all = lines(50000);
    int child = fork();
    write_all(all, child == 0 ? 50000 : 2000);
    if (child == 0)
      _exit(0);
    waitpid(child, NULL, 0);
    printf("done\n");
  } else {
    write_all(lines(3000), 3000);
    kill(getpid(), SIGKILL);
  }
  if (argc > 2) {
    fflush(stdout);
    end(argv[2]);
  }
  return 3;
}
