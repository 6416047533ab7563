// Uses instructions as data: what stands behind calls, and what functions are made of.
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>

static int numbers[] = {1, 2, 3, 4};

__attribute__((noinline, aligned(64))) long add_up(const int *from, long count) {
  long sum = 0;
  for (long i = 0; i < count; i++) sum += from[i];
  return sum;
}
__attribute__((noinline, aligned(64))) void behind(void) { __asm__ volatile("nop"); }

/* Data behind a call, found by its return address. */
__attribute__((noinline)) static long data_behind_call(void) {
  long result;
  __asm__ volatile("call 1f\n .quad 0x1122334455667788\n1: popq %%rcx\n movq (%%rcx),%0" : "=r"(result) : : "rcx", "memory");
  return result;
}
/* A place that is computed from where a call stands. */
__attribute__((noinline)) static long place_behind_call(void) {
  long result;
  __asm__ volatile("call 1f\n1: popq %%rcx\n leaq 2f-1b(%%rcx),%%rcx\n jmp *%%rcx\n ud2\n2: movl $7,%k0"
                   : "=r"(result) : : "rcx", "memory");
  return result;
}
/* The callee skips what stands behind the call of it. */
__asm__("skip_four: addq $4,(%rsp)\n ret\n");
__attribute__((noinline)) static long skipped(void) {
  long result;
  __asm__ volatile("movl $1,%k0\n call skip_four\n .byte 0x0f,0x0b,0x0f,0x0b\n incl %k0" : "=r"(result) : : "memory");
  return result;
}

/* A function without unwind information reads what stands behind the call, whose bytes would be jumps, and skips it. */
__asm__("quad_behind: movq (%rsp),%rax\n movq (%rax),%rax\n addq $8,(%rsp)\n ret\n");
__attribute__((noinline)) static long quad_behind_call(void) {
  long result;
  __asm__ volatile("call quad_behind\n .quad 0x1234567812345678" : "=a"(result) : : "memory");
  return result;
}

__attribute__((noinline)) static unsigned sum_of(const unsigned char *bytes, long count) {
  unsigned sum = 0;
  for (long i = 0; i < count; i++) sum = sum * 31 + bytes[i];
  return sum;
}

int main(int count, char **arguments) {
  printf("%lx %ld %ld\n", data_behind_call(), place_behind_call(), skipped());
  printf("%lx\n", quad_behind_call());
  long size = (char *)behind - (char *)add_up;
  printf("%ld, %u\n", size, sum_of((unsigned char *)add_up, size));
  unsigned char first[16];
  memcpy(first, (void *)add_up, sizeof first);
  printf("%u\n", sum_of(first, sizeof first));
  void *page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(page, (void *)add_up, size);
  printf("%ld %ld\n", add_up(numbers, 4), ((long (*)(const int *, long))page)(numbers, 4));
  fflush(stdout);
  if (count > 1) {
    long start = (long)add_up & -4096;
    long failure = 0;
    if (arguments[1][0] == 'r')
      __asm__ volatile("syscall" : "=a"(failure) : "a"(SYS_mprotect), "D"(start), "S"(4096), "d"(7) : "rcx", "r11", "memory");
    else if (arguments[1][0] == 'm')
      failure = mmap((void *)start, 4096, PROT_READ | PROT_EXEC, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
    else if (arguments[1][0] == 'p')
      failure = mremap(page, 4096, 4096, MREMAP_FIXED | MREMAP_MAYMOVE, (void *)start) == MAP_FAILED;
    else if (arguments[1][0] == 's')
      failure = shmat(shmget(IPC_PRIVATE, 4096, 0700), (void *)start, SHM_REMAP | SHM_EXEC) == (void *)-1;
    else
      failure = mprotect((void *)start, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
    printf("changed %ld\n", failure);
  }
  return 0;
}
