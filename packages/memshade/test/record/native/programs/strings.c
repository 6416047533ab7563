// String instructions of every kind, each in a function of its own, on two blocks of its own: of sizes that no other block has. What each
// reaches stands in the tests.
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define APART __attribute__((noinline))
#define STRING(name, direction, instruction)                                                                        \
  static APART long name(char *to, const char *from, long count, long value) {                                      \
    __asm__ volatile(direction "\n\t" instruction "\n\tcld"                                                         \
                     : "+D"(to), "+S"(from), "+c"(count), "+a"(value)                                               \
                     :                                                                                              \
                     : "memory", "cc");                                                                             \
    return count;                                                                                                   \
  }
STRING(copyBytes, "cld", "rep movsb")
STRING(copyWordsBack, "std", "rep movsw")
STRING(copyOne, "cld", "movsq")
STRING(copyNothing, "cld", "rep movsl")
STRING(copyShort, "cld", "addr32 rep movsl")
STRING(copyAgain, "cld", "rep movsb")
STRING(copyChanged, "cld", "rep movsb")
STRING(copyOver, "cld", "rep movsb")
STRING(fill, "cld", "rep stosl")
STRING(fillBack, "std", "rep stosq")
STRING(fillAgain, "cld", "rep stosw")
STRING(take, "cld", "rep lodsq")
STRING(takeBack, "std", "rep lodsw")
STRING(findEnd, "cld", "repne scasb")
STRING(findBack, "std", "repne scasl")
STRING(compare, "cld", "repe cmpsb")
STRING(compareBack, "std", "repe cmpsw")
STRING(fillUntilFault, "cld", "rep stosb")
// Its last instruction is what another place jumps to: what counts it must not run there.
static APART long findOrNot(const char *at, long count, long found) {
  __asm__ volatile("test %1, %1\n\tjs 1f\n\tcld\n\trepne scasb\n1:\tlea 1(%1), %1" : "+D"(at), "+c"(count) : "a"(found) : "cc");
  return count;
}

enum { BYTES = 512 };
static int blocks;
static char *to, *from;

static APART void writeAll(char *at) {
  for (int i = 0; i < BYTES; i++) ((volatile char *)at)[i] = 1 + i % 7;
}
/** Blocks of 1000, 1001, and so on. */
static APART void next(void) {
  to = malloc(1000 + blocks++);
  from = malloc(1000 + blocks++);
  writeAll(to);
  writeAll(from);
}
static APART void writeScanned(char *at, int value) {
  for (int i = 0; i < 4096; i++) ((volatile char *)at)[i] = i == 5 ? 0 : value;
}
static jmp_buf back;
static void onFault(int number) {
  (void)number;
  siglongjmp(back, 1);
}

int main(void) {
  long left = 0;
  next(), left += copyBytes(to + 1, from + 3, 101, 0);
  next(), left += copyWordsBack(to + 400, from + 300, 101, 0);
  next(), left += copyOne(to, from + 1, 77, 0) - 77;
  next(), left += copyNothing(to, from, 0, 0);
  next();
  char *low = mmap((void *)0x40000000, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (low != (char *)0x40000000) return 1;
  left += copyShort(low + 4096, low, 100, 0);
  // The same once more; all but the last byte; over itself, a byte further, so that each writes what the one before has.
  next(), left += copyAgain(to, from, 300, 0);
  next(), from[299] ^= 1, left += copyChanged(to, from, 300, 0);
  next(), memset(to, 5, BYTES), left += copyOver(to + 1, to, 300, 0);
  next(), left += fill(to, from, 100, 5);
  next(), left += fillBack(to + 400, from, 50, 5);
  next(), memset(to, 5, BYTES), left += fillAgain(to, from, 200, 0x0505);
  next(), left += take(to, from, 20, 0);
  next(), left += takeBack(to, from + 200, 20, 0);
  next(), from[5] = 0, left += findEnd(from, to, -1, 0);
  next(), memset(from + 80, 9, 4), left += findBack(from + 400, to, 200, 0x09090909);
  next(), to[40] ^= 1, left += compare(to, from, 1L << 40, 0);
  next(), left += compareBack(to + 400, from + 400, 60, 0);
  // Claims more than there is, and the program goes on elsewhere.
  next();
  signal(SIGSEGV, onFault);
  char *pages = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(pages + 4096, 4096, PROT_NONE);
  if (!sigsetjmp(back, 1)) fillUntilFault(pages, from, -1, 3);
  next(), left += findOrNot(from, 100, 77), left += findOrNot(to, -100, 77);
  // Six bytes are read before all are written again.
  char *scanned = malloc(4096);
  writeScanned(scanned, 7);
  left += findEnd(scanned, to, -1, 0);
  writeScanned(scanned, 9);
  // 20,000 lines, from the last one to the first.
  char *lines = malloc(64 * 20000);
  left += fillBack(lines + 64 * 20000 - 8, from, 8 * 20000, 1);
  printf("%ld\n", left);
  return 0;
}
