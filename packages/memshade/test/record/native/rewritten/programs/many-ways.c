// gcc -g -O1 -pthread many-ways.c -o many-ways
// Ways to start processes and threads, to leave a function, and to look at oneself: one line of output each.
#define _GNU_SOURCE
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static sigjmp_buf back;
static volatile int ticks;

static void jump_out(int signal) { siglongjmp(back, signal); }
static void tick(int signal) { ticks += signal; }

static void *worker(void *argument) {
  char *text = malloc(100);
  snprintf(text, 100, "thread %ld", (long)argument);
  return text;
}

__attribute__((noinline)) static int depth(int more) {
  void *frames[64];
  if (more > 0) return depth(more - 1) + 0 * ticks;
  return backtrace(frames, 64);
}

static int wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int main(int count, char **args) {
  if (count > 1) {
    char *block = malloc(atoi(args[1]));
    memset(block, 7, atoi(args[1]));
    return block[atoi(args[1]) - 1];
  }
  setvbuf(stdout, 0, _IONBF, 0);
  char path[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  path[length] = 0;
  printf("is %s, sees %s\n", strrchr(path, '/') + 1, getenv("LD_PRELOAD") ? "a preload" : "nothing");

  pthread_t threads[4];
  for (long i = 0; i < 4; i++) pthread_create(&threads[i], 0, worker, (void *)i);
  for (int i = 0; i < 4; i++) {
    void *text;
    pthread_join(threads[i], &text);
    puts(text);
    free(text);
  }
  printf("frames: %d\n", depth(20) - depth(10));

  signal(SIGSEGV, jump_out);
  if (sigsetjmp(back, 1) == 0) *(volatile int *)8 = 1;
  else puts("back from SIGSEGV");
  signal(SIGUSR1, tick);
  for (int i = 0; i < 3; i++) raise(SIGUSR1);
  printf("ticks: %d\n", ticks);

  pid_t child = fork();
  if (child == 0) _exit(strlen(strdup("forked")));
  printf("forked: %d\n", wait_for(child));
  char *next[] = {path, "300", 0};
  if (vfork() == 0) {
    execv(path, next);
    _exit(1);
  }
  printf("after vfork: %d\n", wait_for(-1));
  posix_spawn(&child, path, 0, 0, next, environ);
  printf("spawned: %d\n", wait_for(child));
  printf("by a shell: %d\n", WEXITSTATUS(system("/bin/echo shell; exit 5")));
  FILE *pipe = popen("/bin/cat /proc/self/comm", "r");
  char line[100];
  printf("piped: %s", fgets(line, sizeof line, pipe));
  pclose(pipe);
  child = fork();
  if (child == 0) raise(SIGKILL);
  printf("killed: %d\n", wait_for(child));
  return 9;
}
