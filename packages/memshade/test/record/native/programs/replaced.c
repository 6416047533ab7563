// Replaces itself by another program with each function of the exec family, or leaves that to a child. The program that
// takes over (`last`) keeps 5 of 10 blocks and prints its variables and its child's.
// gcc -O1 -g replaced.c -o replaced
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static void *volatile kept[10];

static void make(int size) {
  for (int i = 0; i < 10; i++) {
    kept[i] = malloc(size);
    if (i % 2 == 0) free(kept[i]);
  }
}

static int last(int count, char **values) {
  setvbuf(stdout, NULL, _IONBF, 0);
  make(1000);
  printf("%d values, the last is %s, LD_PRELOAD is %s\n", count, values[count - 1], getenv("LD_PRELOAD"));
  return system("echo \"child has '$LD_PRELOAD'\"");
}

int main(int count, char **values) {
  const char *how = values[1];
  char *self = values[0], *list[] = {self, "last", "b", NULL}, *none[] = {"LD_PRELOAD=", NULL};
  if (strcmp(how, "last") == 0) return last(count, values);
  make(70);
  if (strcmp(how, "execv") == 0) execv(self, list);
  if (strcmp(how, "execve") == 0) execve(self, list, environ);
  if (strcmp(how, "execvp") == 0) execvp("replaced", list);
  if (strcmp(how, "execvpe") == 0) execvpe("replaced", list, environ);
  if (strcmp(how, "fexecve") == 0) fexecve(open(self, O_RDONLY | O_CLOEXEC), list, environ);
  if (strcmp(how, "execl") == 0) execl(self, self, "last", NULL);
  if (strcmp(how, "execl of ten") == 0) execl(self, self, "last", "2", "3", "4", "5", "6", "7", "8", "9", NULL);
  if (strcmp(how, "execlp") == 0) execlp("replaced", self, "last", "2", "3", NULL);
  if (strcmp(how, "execle") == 0) execle(self, self, "last", "2", "3", "4", NULL, environ);
  if (strcmp(how, "execle of ten") == 0)
    execle(self, self, "last", "2", "3", "4", "5", "6", "7", "8", "9", NULL, environ);
  if (strcmp(how, "own variables") == 0) execve(self, list, none);
  if (strcmp(how, "no variables") == 0) execve(self, list, NULL);
  if (strcmp(how, "another") == 0) execv(values[2], &values[2]);
  if (strcmp(how, "failing") == 0) {
    execv("/nowhere/program", list);
    execlp("program-that-is-nowhere", "program", NULL);
    make(200);
    return 3;
  }
  pid_t child = strcmp(how, "vfork") == 0 ? vfork() : fork();
  if (child == 0) {
    execv(self, list);
    _exit(9);
  }
  return waitpid(child, NULL, 0) < 0;
}
