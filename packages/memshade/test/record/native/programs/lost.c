// 10 lists of 5 blocks each are lost, with `N` more that are held. Ends in the way that is asked for.
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

struct link {
  struct link *next;
  char text[40];
};
static struct link *volatile held;

__attribute__((noipa)) static struct link *list(int length) {
  struct link *first = 0;
  for (int i = 0; i < length; i++) {
    struct link *one = malloc(sizeof *one);
    one->next = first;
    first = one;
  }
  return first;
}

__attribute__((noipa)) static void lose(void) {
  for (int i = 0; i < 10; i++) list(5);
}

// Whoever calls anything but what ends a process is killed.
static void confine(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {4, code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int count, char **words) {
  const char *how = count > 1 ? words[1] : "return";
  held = list(3);
  lose();
  if (!strcmp(how, "exit")) exit(3);
  if (!strcmp(how, "_exit")) _exit(4);
  if (!strcmp(how, "quick")) quick_exit(5);
  if (!strcmp(how, "kill")) kill(getpid(), SIGKILL);
  if (!strcmp(how, "call")) syscall(SYS_exit_group, 6);
  if (!strcmp(how, "confined")) {
    confine();
    _exit(7);
  }
  if (!strcmp(how, "hidden")) {
    // Whoever wants to read its memory later has opened it by then.
    usleep(300000);
    prctl(PR_SET_DUMPABLE, 0);
  }
  if (!strcmp(how, "forks"))
    for (int i = 0; i < 20; i++) {
      pid_t child = i % 2 ? fork() : vfork();
      if (child == 0) _exit(0);
      waitpid(child, 0, 0);
    }
  if (!strcmp(how, "works")) {
    puts("ready");
    fflush(stdout);
    struct pollfd input = {0, POLLIN, 0};
    while (poll(&input, 1, 2) == 0) {
      void *volatile block = malloc(100);
      free(block);
    }
  }
  if (!strcmp(how, "waits")) {
    puts("ready");
    fflush(stdout);
    getchar();
  }
  return 0;
}
