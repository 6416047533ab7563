// Returns that lead elsewhere than behind a call: stacks of coroutines, begun with arguments, and, where the compiler makes them, calls and
// returns by thunks (-mindirect-branch, -mfunction-return).
#include <stdio.h>
#include <ucontext.h>

static ucontext_t home, coroutines[8];
static char stacks[8][32768];
static long sum;

static void coroutine(int a, int b, int c, int d, int e, int f) {
  for (int i = 0; i < 20; i++) {
    sum = sum * 31 + a + 2 * b + 3 * c + 5 * d + 7 * e + 11 * f + i;
    swapcontext(&coroutines[a], &home);
  }
}

__attribute__((noinline)) static long mix(long a, long b, long c, long d, long e, long f) {
  return a + 3 * b + 5 * c + 7 * d + 11 * e + 13 * f;
}

long (*volatile called)(long, long, long, long, long, long) = mix;

__attribute__((noinline)) static long jumped(long a, long b, long c, long d, long e, long f) {
  return called(f, e, d, c, b, a);
}

int main(void) {
  for (int i = 0; i < 8; i++) {
    getcontext(&coroutines[i]);
    coroutines[i].uc_stack.ss_sp = stacks[i];
    coroutines[i].uc_stack.ss_size = sizeof stacks[i];
    coroutines[i].uc_link = &home;
    makecontext(&coroutines[i], (void (*)(void))coroutine, 6, i, i + 1, i + 2, i + 3, i + 4, i + 5);
  }
  for (int turn = 0; turn < 21; turn++)
    for (int i = 0; i < 8; i++) swapcontext(&home, &coroutines[i]);
  for (long i = 0; i < 1000; i++) sum += called(i, sum, 3, 4, 5, 6) ^ jumped(1, 2, i, sum, 5, 6);
  printf("%ld\n", sum);
  return 3;
}
