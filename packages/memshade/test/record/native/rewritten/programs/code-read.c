// Prints a sum of bytes that lie where code does: of functions by pointers out of a table, or that a function gives; of a table between functions;
// with -DALL, of all code.
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const unsigned char numbers[];

__attribute__((noinline)) static int triple(int x) { return 3 * x + 1; }
__attribute__((noinline)) int kept(int x) {
  char *bytes = malloc(x);
  bytes[0] = x;
  int result = bytes[0];
  free(bytes);
  return result;
}
__attribute__((noinline)) static int squares(int x) {
  int sum = 0;
  for (int i = 0; i < x; i++) sum += i * i;
  return sum;
}
static int (*const functions[])(int) = {triple, kept, squares};
static const struct {
  const char *name;
  int (*function)(int);
  int bytes;
} named[] = {{"kept", kept, 12}, {"squares", squares, 16}};

__asm__(".text\n .p2align 6\nin_front: .cfi_startproc\n nop\n ret\n .cfi_endproc\n .p2align 3\nnumbers: .quad 3, 5, 7, 11\n"
        ".type behind, @function\nbehind: .cfi_startproc\n movl $13, %eax\n nop\n ret\n .cfi_endproc\n .p2align 6\n");
__attribute__((visibility("hidden"))) extern int behind(void);

__attribute__((noinline)) static int cubes(int x) {
  int sum = 0;
  for (int i = 0; i < x; i++) sum += i * i * i;
  return sum;
}
__attribute__((noinline)) static int odd(int x) { return 2 * x + 1; }
/* Nothing in the code shows that what this gives is read. */
__attribute__((noinline)) static void *chosen(int i) { return i > 0 ? (void *)cubes : (void *)odd; }

__attribute__((noinline)) static unsigned sum_of(const unsigned char *from, const unsigned char *to) {
  unsigned sum = 0;
  for (; from < to; from++) sum = sum * 31 + *from;
  return sum;
}

int print_sums(const char *what) {
  int (*volatile call)(void) = behind;
  printf("%s %d", what, call());
  if (strcmp(what, "table") == 0)
    for (int i = 0; i < 3; i++) {
      const unsigned char *bytes = (const unsigned char *)functions[i];
      printf(" %d %08x", functions[i](10 + i), sum_of(bytes, bytes + 16));
    }
  else if (strcmp(what, "named") == 0)
    for (int i = 0; i < 2; i++) {
      const unsigned char *bytes = (const unsigned char *)named[i].function;
      unsigned sum = 0;
      for (int k = 0; k < named[i].bytes; k++) sum = sum * 31 + *bytes++;
      printf(" %s %d %08x", named[i].name, named[i].function(10), sum);
    }
  else if (strcmp(what, "chosen") == 0)
    for (int i = 0; i < 2; i++) {
      const unsigned char *bytes = chosen(i);
      printf(" %08x", sum_of(bytes, bytes + 16));
    }
  else if (strcmp(what, "return") == 0) {
    void *volatile calls[8];
    if (backtrace((void **)calls, 8) > 0) printf(" %08x", sum_of((unsigned char *)calls[0] - 8, (unsigned char *)calls[0]));
  } else
    printf(" %08x", sum_of(numbers, numbers + 32));
#ifdef ALL
  extern char __executable_start, etext;
  printf(" %08x", sum_of((unsigned char *)&__executable_start, (unsigned char *)&etext));
#endif
  printf("\n");
  return 0;
}

#ifndef LIBRARY
int main(int count, char **arguments) { return print_sums(count > 1 ? arguments[1] : "table"); }
#endif
