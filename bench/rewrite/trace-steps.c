/*
 * gcc -O2 trace-steps.c -o trace-steps
 * trace-steps steps OUT MAPS PROGRAM ARGUMENT...: runs a program one instruction after the other; OUT gets 17 words for each: the
 * address, and the general registers in the order of their numbers. MAPS gets its mappings as it ends.
 * trace-steps steps-from OUT MAPS PROGRAM ARGUMENT...: the same from where the program stops itself (`int3`).
 * trace-steps memory OUT MAPS PROGRAM ARGUMENT...: runs it as it is, and waits for a line when it ends, with its number in OUT.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static void copy_maps(pid_t child, const char *to) {
  char path[64], buffer[4096];
  snprintf(path, sizeof path, "/proc/%d/maps", child);
  FILE *in = fopen(path, "r"), *out = fopen(to, "w");
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, in)) > 0;) fwrite(buffer, 1, n, out);
  fclose(in);
  fclose(out);
}

int main(int count, char **arguments) {
  if (count < 5) return 2;
  int steps = strcmp(arguments[1], "steps") == 0, stops = strcmp(arguments[1], "steps-from") == 0;
  FILE *out = fopen(arguments[2], "wb");
  pid_t child = fork();
  if (child == 0) {
    personality(ADDR_NO_RANDOMIZE);
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    execv(arguments[4], arguments + 4);
    _exit(126);
  }
  int status;
  waitpid(child, &status, 0);
  ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL);
  for (int signal = 0;;) {
    if (steps) {
      struct user_regs_struct r;
      ptrace(PTRACE_GETREGS, child, 0, &r);
      unsigned long long words[17] = {r.rip, r.rax, r.rcx, r.rdx, r.rbx, r.rsp, r.rbp, r.rsi, r.rdi,
                                      r.r8,  r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15};
      fwrite(words, 8, 17, out);
    }
    ptrace(steps ? PTRACE_SINGLESTEP : PTRACE_CONT, child, 0, signal);
    waitpid(child, &status, 0);
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    if (WIFSIGNALED(status)) return 125;
    signal = 0;
    if (stops && WSTOPSIG(status) == SIGTRAP) steps = 1;
    if (status >> 8 == (SIGTRAP | (PTRACE_EVENT_EXIT << 8))) {
      copy_maps(child, arguments[3]);
      if (!steps && !stops) {
        fprintf(out, "%d\n", child);
        fflush(out);
        puts("ends");
        fflush(stdout);
        while (getchar() != '\n') continue;
      }
      steps = stops = 0;
    } else if (WSTOPSIG(status) != SIGTRAP)
      signal = WSTOPSIG(status);
  }
}
