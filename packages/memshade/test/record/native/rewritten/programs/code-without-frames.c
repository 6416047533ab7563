// Prints a sum of what stands between its functions, which is code that has no frames, and of two bytes behind.
#include <stdio.h>
#include <stdlib.h>
extern const unsigned char table[], table_end[];
__asm__(".text\n.p2align 6\n.globl table\n.hidden table\ntable: movl $7,%eax\n addl $3,%eax\n imull $5,%eax\n ret\n .globl table_end\n.hidden table_end\ntable_end:\n");
__attribute__((noinline)) int next_one(int x){ char *p = malloc(x); p[0]=x; int r=p[0]; free(p); return r*2; }
int main(void){
  unsigned s=0;
  for (const unsigned char *p=table; p<=table_end+1; p++) s=s*31+*p;
  printf("%u %d\n", s, next_one(3));
}
