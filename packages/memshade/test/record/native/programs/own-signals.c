// Uses the signals that it is told of: by a handler, by waiting, by ignoring. All others are kept off in a thread that works.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

static volatile unsigned long sink;
static volatile int handled, ticks;

static void handler(int number) {
  handled = number;
}
static void tick(int number) {
  (void)number;
  ticks++;
}
static void burn(void) {
  for (unsigned long i = 0; i < 100000000; i++) sink += i;
}
static void *keeps_all_off(void *unused) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, 0);
  burn();
  return unused;
}

int main(int count, char **args) {
  struct sigaction action = {.sa_handler = handler}, old;
  for (int i = 1; i < count; i++) {
    int number = atoi(args[i]);
    sigaction(number, &action, &old);
    burn();
    raise(number);
    printf("%d: default %d, handled %d\n", number, old.sa_handler == SIG_DFL, handled == number);
  }
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, 50);
  sigprocmask(SIG_BLOCK, &one, 0);
  burn();
  raise(50);
  int taken;
  sigwait(&one, &taken);
  signal(SIGPROF, tick);
  struct itimerval often = {{0, 5000}, {0, 5000}};
  setitimer(ITIMER_PROF, &often, 0);
  pthread_t thread;
  pthread_create(&thread, 0, keeps_all_off, 0);
  burn();
  pthread_join(thread, 0);
  printf("waited for %d, ticks %d\n", taken, ticks > 0);
  return 0;
}
