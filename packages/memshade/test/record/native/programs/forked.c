// Works for 0.4 s of CPU time: in a process that it forks, or with an argument in a program that this one runs.
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *volatile kept;

static __attribute__((noinline)) void work(void) {
  kept = malloc(77);
  while (clock() < CLOCKS_PER_SEC * 4 / 10)
    for (volatile int i = 0; i < 10000; i++);
}

int main(int count, char **arguments) {
  if (count > 1 && strcmp(arguments[1], "work") == 0) {
    work();
    return 0;
  }
  if (fork() == 0) {
    if (count > 1) execl(arguments[0], arguments[0], "work", NULL);
    work();
    _exit(0);
  }
  wait(NULL);
  return 0;
}
