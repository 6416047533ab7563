/* Products of square matrices, row by column. */
#include <stdio.h>
#include <stdlib.h>

enum { N = 300, TIMES = 48 };

static double *matrix(unsigned seed) {
  double *m = malloc(N * N * sizeof *m);
  for (int i = 0; i < N * N; i++)
    m[i] = (seed = seed * 1103515245u + 12345) >> 16 & 7;
  return m;
}

int main(void) {
  double *a = matrix(1), *b = matrix(2), *c = matrix(3), trace = 0;
  for (int time = 0; time < TIMES; time++) {
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) {
        double sum = 0;
        for (int k = 0; k < N; k++)
          sum += a[i * N + k] * b[k * N + j];
        c[i * N + j] = sum;
      }
    for (int i = 0; i < N; i++)
      trace += c[i * N + i];
  }
  printf("%.0f\n", trace);
  return 0;
}
