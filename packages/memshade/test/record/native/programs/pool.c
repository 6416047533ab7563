// gcc -g -O1 -shared -fPIC pool.c -o libpool.so
// An allocator that is none of the C library's, with the names of others beside its own. It hands out what the C library's does.
#include <stddef.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);

void *malloc(size_t size) { return __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return __libc_calloc(count, size); }
void *realloc(void *block, size_t size) { return __libc_realloc(block, size); }
void free(void *block) { __libc_free(block); }
void *memalign(size_t alignment, size_t size) { return __libc_memalign(alignment, size); }
void *mi_aligned_alloc(size_t alignment, size_t size);
// What calls another function by its name would never end if both were replaced.
void *aligned_alloc(size_t alignment, size_t size) { return mi_aligned_alloc(alignment, size); }
void *mi_aligned_alloc(size_t alignment, size_t size) { return __libc_memalign(alignment, size); }

void *tc_malloc(size_t size) __attribute__((alias("malloc")));
void tc_free(void *block) __attribute__((alias("free")));
void *mi_zalloc(size_t size) { return __libc_calloc(1, size); }

// C++'s operators, which call none of those above.
void *_Znwm(size_t size) { return __libc_malloc(size); }
void *_Znam(size_t size) { return __libc_malloc(size); }
void _ZdlPv(void *block) { __libc_free(block); }
void _ZdlPvm(void *block, size_t size) { __libc_free(block); }
void _ZdaPv(void *block) { __libc_free(block); }

void *mallocx(size_t size, int flags) { return __libc_malloc(size); }
void *rallocx(void *block, size_t size, int flags) { return __libc_realloc(block, size); }
void dallocx(void *block, int flags) { __libc_free(block); }
