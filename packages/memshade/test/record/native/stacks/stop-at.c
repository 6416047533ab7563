// gcc -O1 -shared -fPIC stop-at.c -o stop-at.so
//
// Preloaded behind the image: the allocator's functions that the hooks call. In the process that a debugger has set a number for, the
// allocation of that number stops.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/** Set by the debugger: how many allocations are left before the next stop; not above 0: it does not stop. */
long stop_after = 0;
static long process = 0;

__attribute__((constructor)) void stop_begin(void) { process = syscall(SYS_getpid); }

static void count(void) {
  if (stop_after <= 0 || __atomic_sub_fetch(&stop_after, 1, __ATOMIC_RELAXED) != 0) return;
  if (process != syscall(SYS_getpid)) return;
  __asm__ volatile("int3");
}

#define NEXT(name)                                                     \
  static __typeof__(&name) next;                                       \
  if (next == NULL) next = (__typeof__(next))dlsym(RTLD_NEXT, #name)

void *malloc(size_t size) {
  NEXT(malloc);
  void *result = next(size);
  count();
  return result;
}

void *calloc(size_t number, size_t size) {
  NEXT(calloc);
  void *result = next(number, size);
  count();
  return result;
}

void *realloc(void *old, size_t size) {
  NEXT(realloc);
  void *result = next(old, size);
  if (size != 0) count();
  return result;
}

void *memalign(size_t alignment, size_t size) {
  NEXT(memalign);
  void *result = next(alignment, size);
  count();
  return result;
}

void *aligned_alloc(size_t alignment, size_t size) {
  NEXT(aligned_alloc);
  void *result = next(alignment, size);
  count();
  return result;
}

int posix_memalign(void **place, size_t alignment, size_t size) {
  NEXT(posix_memalign);
  int result = next(place, alignment, size);
  count();
  return result;
}
