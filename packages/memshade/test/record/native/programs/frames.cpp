// g++ -g -O2 -pthread frames.cpp -o frames
//
// Allocates from frames of all kinds: templates, recursion, catch blocks, realigned and variable stacks, tail calls, calls that do not
// return, signal handlers on two stacks, contexts of their own, threads, atexit.
#include <algorithm>
#include <alloca.h>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <immintrin.h>
#include <map>
#include <memory>
#include <stdexcept>
#include <pthread.h>
#include <string>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

static thread_local void *volatile kept;
#define NOINLINE __attribute__((noinline))

NOINLINE static void take(size_t size) {
  free(kept);
  kept = malloc(size);
  asm volatile("" ::: "memory");
}

template <int Depth> struct Nest {
  NOINLINE static int go(int n) {
    if ((n & 7) == Depth % 8) take(16 + Depth);
    return Nest<Depth - 1>::go(n + 1) + Depth;
  }
};
template <> struct Nest<0> {
  NOINLINE static int go(int n) {
    take(n + 8);
    return n;
  }
};

NOINLINE static void variable(int n) {
  volatile char *room = (char *)alloca(16 * n + 1);
  room[n] = 1;
  take(n + 1);
  if (n > 0) variable(n - 3 > 0 ? n - 3 : 0);
  room[0] = 2;
}

NOINLINE static void realigned(int n) {
  alignas(64) volatile char room[64];
  room[0] = (char)n;
  take(n + 1);
  volatile char *more = (char *)alloca(n * 8 + 1);
  more[0] = room[0];
  if (n > 0) realigned(n - 1);
  take(n + 2);
  more[0] = 0;
}

struct Cleanup {
  std::string text = std::string(40, 'c');
  ~Cleanup() { take(24); }
};

NOINLINE static void thrower(int n) {
  Cleanup cleanup;
  if (n == 0) throw std::runtime_error(std::string(100, 'e'));
  thrower(n - 1);
}

NOINLINE static void catching(int n) {
  try {
    thrower(n);
  } catch (const std::exception &error) {
    std::string copy = error.what();
    take(copy.size());
    if (n > 2) {
      try {
        throw;
      } catch (...) {
        take(33);
      }
    }
  }
}

NOINLINE static void tail_end(int n) { take(n); }
NOINLINE static void tail(int n) { tail_end(n + 3); }

static jmp_buf back;
// Its last instruction is a call: the return address is that of the next function.
[[noreturn]] NOINLINE static void leave(int n) {
  take(n);
  longjmp(back, 1);
}
NOINLINE static void calls_at_end(int n) {
  take(7);
  leave(n);
}

static void on_signal(int) { take(55); }

NOINLINE static void signals() {
  raise(SIGUSR1);
  volatile double x = 1;
  for (int i = 0; i < 3; i++) {
    raise(SIGUSR2);
    x = x * 2;
  }
}

static ucontext_t main_context, other_context;
static void coroutine() {
  for (int i = 0; i < 5; i++) {
    take(80 + i);
    Nest<6>::go(i);
    swapcontext(&other_context, &main_context);
  }
}

// A frame by frame pointer, without call frame information.
extern "C" void by_frame_pointer(void (*)(int), int);
asm(R"(
  .text
  .globl by_frame_pointer
  .type by_frame_pointer, @function
by_frame_pointer:
  push %rbp
  mov %rsp, %rbp
  sub $32, %rsp
  mov %rdi, %rax
  mov %esi, %edi
  call *%rax
  leave
  ret
  .size by_frame_pointer, .-by_frame_pointer
)");

static void *thread(void *arg) {
  int n = (int)(long)arg;
  for (int i = 0; i < 50; i++) {
    Nest<12>::go(n + i);
    std::map<std::string, int> words;
    for (int k = 0; k < 4; k++) words[std::string(20 + k, 'a' + k)] = k;
    catching(i % 4);
    realigned(3);
  }
  return nullptr;
}

static void at_end() { take(99); }

int main() {
  atexit(at_end);
  static char stack[64 * 1024];
  stack_t alternate = {};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof stack;
  sigaltstack(&alternate, nullptr);
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigaction(SIGUSR1, &action, nullptr);
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR2, &action, nullptr);

  for (int round = 0; round < 20; round++) {
    Nest<20>::go(round);
    variable(20);
    realigned(6);
    catching(round % 6);
    tail(round + 1);
    if (setjmp(back) == 0) calls_at_end(round + 1);
    signals();
    by_frame_pointer(tail_end, 5);
    std::function<int(int)> twice = [&](int n) { take(n + 3); return n == 0 ? 0 : twice(n - 1); };
    twice(4);
    std::vector<std::string> names;
    for (int i = 0; i < 12; i++) names.push_back(std::string(30 - i, 'n'));
    std::sort(names.begin(), names.end(), [](const std::string &a, const std::string &b) {
      take(a.size() + 1);
      return std::string(a) + "x" < b;
    });
    qsort(names.data(), 0, sizeof(std::string), nullptr);
    int numbers[8] = {5, 3, 8, 1, 9, 2, 7, 4};
    qsort(numbers, 8, sizeof(int), [](const void *a, const void *b) {
      take(12);
      return *(const int *)a - *(const int *)b;
    });
    static char coroutine_stack[64 * 1024];
    getcontext(&other_context);
    other_context.uc_stack.ss_sp = coroutine_stack;
    other_context.uc_stack.ss_size = sizeof coroutine_stack;
    other_context.uc_link = nullptr;
    makecontext(&other_context, coroutine, 0);
    for (int i = 0; i < 4; i++) swapcontext(&main_context, &other_context);
  }
  pthread_t threads[3];
  for (long i = 0; i < 3; i++) pthread_create(&threads[i], nullptr, thread, (void *)i);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], nullptr);
  return 0;
}
