// gcc -g -O1 family.c -o family
// A program that starts others in all the ways there are, and says what it and they see of a recording.
#include <dirent.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static void *volatile kept;

static __attribute__((noinline)) void work(int blocks, int size) {
  for (int i = 0; i < blocks; i++) kept = malloc(size);
}

static void look(const char *who) {
  int variables = 0, files = 0;
  for (char **one = environ; *one; one++) variables += strncmp(*one, "LD_PRELOAD=", 11) == 0;
  for (int file = 0; file < 1024; file++) {
    char path[64], target[512];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    ssize_t bytes = readlink(path, target, sizeof target - 1);
    if (bytes < 0) continue;
    target[bytes] = 0;
    files += strstr(target, "memshade-native") != 0;
  }
  printf("%s: %d variables, %d files\n", who, variables, files);
  fflush(stdout);
}

static void wait_for(pid_t child) { waitpid(child, 0, 0); }

int main(int count, char **args) {
  if (count > 2) {
    look(args[1]);
    work(atoi(args[2]), 77);
    return 0;
  }
  work(10, 11);
  look("main");
  pid_t child = fork();
  if (child == 0) {
    work(200, 33);
    _exit(0);
  }
  wait_for(child);
  child = fork();
  if (child == 0) {
    work(5, 55);
    execl("/proc/self/exe", "family", "executed", "300", NULL);
  }
  wait_for(child);
  child = vfork();
  if (child == 0) {
    execl("/proc/self/exe", "family", "after vfork", "400", NULL);
    _exit(1);
  }
  wait_for(child);
  char *spawned[] = {"family", "spawned", "500", NULL};
  if (posix_spawn(&child, "/proc/self/exe", 0, 0, spawned, environ) == 0) wait_for(child);
  setenv("FAMILY", args[0], 1);
  return system("\"$FAMILY\" piped 600 | cat") == 0 ? 3 : 4;
}
