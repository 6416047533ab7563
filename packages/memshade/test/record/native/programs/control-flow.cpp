// Ways for control to go on that are not plain calls: exceptions through destructors and several kinds of handlers, across a thread,
// out of a library; jump tables, computed goto; a jump out of a signal's handler.
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <future>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

static std::string told;

struct Told {
  int id;
  ~Told() { told += "~" + std::to_string(id); }
};

struct Wrong : std::runtime_error {
  int value;
  explicit Wrong(int value) : std::runtime_error("wrong " + std::to_string(value)), value(value) {}
};

static int descend(int depth) {
  Told here{depth};
  if (depth == 0) throw Wrong(42);
  if (depth % 3 != 0) return descend(depth - 1) + depth;
  try {
    return descend(depth - 1) + 1;
  } catch (Wrong &wrong) {
    told += "c" + std::to_string(depth);
    if (depth % 2) throw;
    throw std::string("s") + wrong.what();
  } catch (const std::string &text) {
    told += "[" + text + "]";
    throw Wrong(depth);
  }
}

static int throwAbove(int limit, int value) {
  if (value > limit) throw value;
  return value;
}

static int choose(int number) {
  switch (number) {
    case 0: return 7;
    case 1: return number * 3;
    case 2: std::puts("two"); return 1;
    case 3: return choose(2);
    case 4: return 9;
    case 5: return 11;
    case 6: return number ^ 3;
    case 7: return 2;
    case 9: return 3;
  }
  return -1;
}

static int wander(int state) {
  static void *const next[] = {&&one, &&two, &&three, &&four};
  int sum = 0;
  for (;;) {
    goto *next[state & 3];
  one: sum += 1; state += 3; if (sum > 50) return sum; continue;
  two: sum += 2; state += 2; continue;
  three: sum ^= 5; state += 5; continue;
  four: sum += 7; state += 1; if (sum > 100) return sum * 2;
  }
}

static sigjmp_buf back;
static void jumpBack(int) { siglongjmp(back, 5); }

int main() {
  try {
    descend(11);
  } catch (Wrong &wrong) {
    told += wrong.what();
  } catch (std::string &text) {
    told += text;
  }
  std::puts(told.c_str());
  auto later = std::async(std::launch::async, []() -> int { throw Wrong(7); });
  try {
    later.get();
  } catch (Wrong &wrong) {
    std::printf("from a thread: %d\n", wrong.value);
  }
  int sum = 0;
  for (int i = 0; i < 12; i++) {
    try {
      sum += throwAbove(3, i);
    } catch (int value) {
      sum += 100 * value;
    }
    sum += choose(i);
  }
  std::printf("%d %d\n", sum, wander(sum));
  std::map<std::string, int> names;
  for (int i = 0; i < 1000; i++) names["k" + std::to_string(i * 7919 % 1009)] += i;
  unsigned long hash = 0;
  for (auto &name : names) hash = hash * 31 + name.second;
  std::printf("%lu\n", hash);
  std::signal(SIGSEGV, jumpBack);
  int from = sigsetjmp(back, 1);
  if (from == 0) *reinterpret_cast<volatile int *>(8) = 1;
  std::printf("back: %d\n", from);
  try {
    std::vector<int>().at(3);
  } catch (std::out_of_range &error) {
    std::puts(error.what());
  }
  return 7;
}
