// One thread burns twice as long in one function as in the other, and another one as long as both, in code of a compiler at run time.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static volatile unsigned long sink;

static long cpu_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void burn(unsigned long steps) {
  for (unsigned long i = 0; i < steps; i++) sink += i;
}
static void burn_once(unsigned long steps) {
  burn(steps);
}
static void burn_twice(unsigned long steps) {
  burn(2 * steps);
}

// push rbp; mov rbp, rsp; again: dec rdi; jnz again; pop rbp; ret
static const unsigned char CODE[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0x5d, 0xc3};

static void *made_at_run_time(void *limit) {
  pthread_setname_np(pthread_self(), "compiled");
  void *page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(page, CODE, sizeof CODE);
  while (cpu_ms() < (long)limit) ((void (*)(unsigned long))page)(3000000);
  return 0;
}

int main(void) {
  const long limit = 1500;
  pthread_t thread;
  pthread_create(&thread, 0, made_at_run_time, (void *)limit);
  unsigned random = 1;
  while (cpu_ms() < limit) {
    // Rounds of one length would keep step with the clock that samples are taken by.
    random = random * 1103515245 + 12345;
    const unsigned long steps = 100000 + (random >> 12);
    burn_once(steps);
    burn_twice(steps);
  }
  pthread_join(thread, 0);
  puts("done");
  return 5;
}
