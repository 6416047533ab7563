// Prints bytes of functions, each read by another rare instruction: xlat, a gather, and loads where the function is the stack.
#include <stdio.h>
#include <string.h>

#define SQUARES(name)                                            \
  __attribute__((noinline, used)) int name(int *from, int count) { \
    int sum = 0;                                                 \
    for (int i = 0; i < count; i++) sum += from[i] * from[i];    \
    return sum;                                                  \
  }
SQUARES(by_xlat)
SQUARES(by_gather)
SQUARES(by_pop)
SQUARES(by_move)

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  int numbers[] = {1, 2, 3};
  unsigned long word = 0;
  int sum = 0;
  if (strcmp(how, "xlat") == 0) {
    __asm__ volatile("lea by_xlat(%%rip), %%rbx\n mov $2, %%eax\n xlatb\n movzbl %%al, %%eax" : "=a"(word) : : "rbx");
    sum = by_xlat(numbers, 3);
  } else if (strcmp(how, "gather") == 0) {
    int from[4] = {0, 1, 0, 1}, words[4];
    __asm__ volatile("lea by_gather(%%rip), %%rdi\n vpcmpeqd %%xmm2, %%xmm2, %%xmm2\n vmovdqu %1, %%xmm1\n"
                     "vpgatherdd %%xmm2, (%%rdi, %%xmm1, 4), %%xmm0\n vmovdqu %%xmm0, %0"
                     : "=m"(words) : "m"(from) : "rdi", "xmm0", "xmm1", "xmm2");
    word = words[0] + words[1];
    sum = by_gather(numbers, 3);
  } else if (strcmp(how, "pop") == 0) {
    __asm__ volatile("mov %%rsp, %%r8\n lea by_pop(%%rip), %%rsp\n pop %0\n mov %%r8, %%rsp" : "=r"(word) : : "r8");
    sum = by_pop(numbers, 3);
  } else {
    __asm__ volatile("lea by_move(%%rip), %%rdi\n mov %%rsp, %%r8\n mov %%rdi, %%rsp\n mov 1(%%rsp), %0\n mov %%r8, %%rsp"
                     : "=r"(word) : : "rdi", "r8");
    sum = by_move(numbers, 3);
  }
  printf("%s %016lx %d\n", how, word, sum);
  return 0;
}
