// gcc -g -O1 -fno-builtin dragged.c -o dragged
// 400,000 bytes are read once and kept to the end, while 40,000 others are used all the time. A thousand blocks of 200 bytes each are read right
// before they end, and a thousand of 300 bytes live on for long after their use.
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  volatile int *dragged = malloc(400000), *used = malloc(40000);
  volatile char *late[1000];
  long sum = 0;
  for (int i = 0; i < 100000; i++) dragged[i] = i;
  for (int i = 0; i < 10000; i++) used[i] = i;
  for (int i = 0; i < 1000; i++) {
    late[i] = malloc(300);
    for (int k = 0; k < 300; k++) late[i][k] = k;
  }
  for (int i = 0; i < 1000; i++) {
    volatile char *block = malloc(200);
    block[0] = i;
    for (int k = 0; k < 2000; k++) used[(31 * i + k) % 10000] += k;
    for (int k = 0; k < 200; k++) block[k] = k;
    sum += block[0];
    free((void *)block);
  }
  for (int i = 0; i < 1000; i++) free((void *)late[i]);
  free((void *)used);
  free((void *)dragged);
  printf("%ld\n", sum);
  return 0;
}
