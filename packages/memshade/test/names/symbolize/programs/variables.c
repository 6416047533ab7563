// Variables in all places; compiled by the tests with -nostdlib -nostartfiles, never run.
struct point {
  int x, y;
  long grid[3][4];
};

int counter = 7;
static long table[4] = {1, 2, 3, 4};
struct point origin;
const char *names[2];
_Thread_local int per_thread;

static inline __attribute__((always_inline)) int scaled(int a, int b) {
  static int calls;
  calls++;
  int sum = a + b;
  return sum * (int)table[calls & 3];
}

int work(int count, const struct point *at) {
  int found[8];
  struct point copy = *at;
  volatile int kept[count + 1];
  for (int i = 0; i < 8; i++) {
    int each = scaled(i, count);
    found[i] = each + copy.x;
    kept[i % count] = found[i];
  }
  return found[count & 7] + kept[0];
}

int main(int argc, char **argv) {
  names[0] = argv[0];
  counter += work(argc, &origin) + per_thread;
  return counter & 1;
}
