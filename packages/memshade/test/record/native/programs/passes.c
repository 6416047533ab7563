/* 59 passes over lines of one block: pass i writes 100 i of them, 2 i + 1 lines apart. gcc -O1 passes.c -o passes */
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static void pass(volatile char *all, long count, long step) {
  for (long i = 0; i < count; i++)
    all[(i * step % 4096) * 64] = 1;
}
int main(void) {
  volatile char *all = aligned_alloc(4096, 4096 * 64);
  for (long i = 1; i < 60; i++)
    pass(all, 100 * i, 2 * i + 1);
  puts("done");
  return 0;
}
