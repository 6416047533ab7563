// gcc -g -O1 pooled.c -lpool -o pooled
#include <stddef.h>
#include <stdlib.h>

extern void *tc_malloc(size_t size), *mi_zalloc(size_t size), *_Znwm(size_t size), *_Znam(size_t size);
extern void tc_free(void *block), _ZdlPvm(void *block, size_t size), _ZdaPv(void *block);
extern void *mallocx(size_t size, int flags), *rallocx(void *block, size_t size, int flags);
extern void dallocx(void *block, int flags);

static void *volatile kept;

int main(void) {
  for (int i = 0; i < 10; i++) kept = malloc(100);
  for (int i = 0; i < 10; i++) tc_free(tc_malloc(200));
  for (int i = 0; i < 10; i++) _ZdlPvm(_Znwm(300), 300);
  for (int i = 0; i < 10; i++) _ZdaPv(_Znam(400));
  void *grown = mallocx(500, 0);
  for (int i = 1; i < 10; i++) grown = rallocx(grown, 500 + i, 0);
  dallocx(grown, 0);
  kept = aligned_alloc(64, 640);
  free(kept);
  for (int i = 0; i < 10; i++) kept = mi_zalloc(700);
  return 0;
}
