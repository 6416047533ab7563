/* Nothing but calls and loops, for any machine. */

int other(int n);

static inline __attribute__((always_inline)) int square(int x) { return x * x; }

__attribute__((noinline)) int sum(int n) {
  int total = 0;
  for (int i = 0; i < n; i++) total += square(i) ^ n;
  if (total > 100) total = other(total);
  return total;
}

int twice(int n) { return sum(n) + sum(n + 1); }

int other(int n) { return n > 7 ? twice(n - 7) : n; }

void _start(void) {
  for (;;) other(3);
}
