// gcc -O1 -shared -fPIC stop-at.c -o stop-at.so
//
// Preloaded behind the image: the allocator's functions that the hooks call. In the process that a debugger has set a number for, the
// allocation of that number stops.
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <sys/syscall.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

/** Set by the debugger: how many allocations are left before the next stop; not above 0: it does not stop. */
long stop_after = 0;
static long process = 0;

__attribute__((constructor)) void stop_begin(void) { process = syscall(SYS_getpid); }

static void count(void) {
  if (stop_after <= 0 || __atomic_sub_fetch(&stop_after, 1, __ATOMIC_RELAXED) != 0) return;
  if (process != syscall(SYS_getpid)) return;
  __asm__ volatile("int3");
}

void *malloc(size_t size) {
  void *block = __libc_malloc(size);
  count();
  return block;
}

void *calloc(size_t number, size_t size) {
  void *block = __libc_calloc(number, size);
  count();
  return block;
}

void *realloc(void *old, size_t size) {
  void *block = __libc_realloc(old, size);
  if (size != 0) count();
  return block;
}

void *memalign(size_t alignment, size_t size) {
  void *block = __libc_memalign(alignment, size);
  count();
  return block;
}

void *aligned_alloc(size_t alignment, size_t size) {
  void *block = __libc_memalign(alignment, size);
  count();
  return block;
}

int posix_memalign(void **result, size_t alignment, size_t size) {
  void *block = __libc_memalign(alignment, size);
  if (block == NULL) return ENOMEM;
  *result = block;
  count();
  return 0;
}
