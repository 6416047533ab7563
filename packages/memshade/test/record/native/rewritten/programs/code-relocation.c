// The dynamic linker writes an address into the code, where it is linked for any address.
#include <stdio.h>

int value = 5;

__attribute__((noinline)) static int get(void) {
  int result;
  __asm__ volatile("movabsq $value,%%rax\n movl (%%rax),%0" : "=r"(result) : : "rax");
  return result;
}

int main(void) {
  printf("%d\n", get());
  return 0;
}
