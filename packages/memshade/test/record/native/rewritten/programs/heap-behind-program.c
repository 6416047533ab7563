// Without random addresses a heap begins behind a program's last byte: programs that were saved with their memory go on there.
#include <stdio.h>
#include <sys/personality.h>
#include <unistd.h>

#define PAGE 4096l
#define MIB (1l << 20)
// Kernels may leave some pages out, never as much as this.
#define SLACK (MIB / 2)

extern char end;

int main(int count, char **arguments, char **environment) {
  if (count == 1 && (personality(-1) & ADDR_NO_RANDOMIZE) == 0) {
    personality(ADDR_NO_RANDOMIZE);
    execve(arguments[0], arguments, environment);
    return 2;
  }
  char *from = (char *)(((long)&end + PAGE - 1) & -PAGE);
  char *start = sbrk(900 * MIB);
  if (count > 1) from = start;
  char *to = sbrk(0);
  printf("contiguous %d\n", to - from <= 900 * MIB + SLACK);
  // Code that lies in the way is met, whatever its size.
  for (char *at = from; at < to; at += at < from + 32 * MIB ? PAGE : MIB) *at = 1;
  puts("written");
  return 0;
}
