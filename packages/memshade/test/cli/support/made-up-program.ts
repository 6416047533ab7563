import { randomNumbers } from "../../profile/formats/mutations.ts";

type Random = (below: number) => number;

/** Ways in which a function of a random program calls the next one, `next(x)`. */
const STEPS: readonly ((next: string, random: Random) => string)[] = [
  (next, random) => `return ${next}(x + ${random(9)}) * ${2 + random(9)};`,
  (next) => `char room[x % 7 + 40]; fill(room, sizeof room);\n  return ${next}(x) + room[3];`,
  (next, random) =>
    `volatile char room[${8 << random(12)}]; room[x & 7] = x;\n  return ${next}(x) + room[1];`,
  (next, random) =>
    `double d = x * ${random(9)}.5; struct { long a[5]; } s = {{x, 1, 2}};\n  return ${next}(x) + (int)d + s.a[x & 1];`,
  (next) => `chosen = ${next};\n  return chosen(x) + 2;`,
  (next) => `int _Alignas(64) v[16]; fill((char *)v, sizeof v);\n  return ${next}(x) + v[x & 3];`,
  (next) => `int v[3] = {x, 2, 1}; wanted = ${next};\n  qsort(v, 3, sizeof *v, compare);\n  return v[0];`,
  (next, random) => `if (x > ${1000 + random(9)}) return x;\n  return sum(3, x, ${next}(x), 1);`,
  (next, random) =>
    `static int left = ${1 + random(4)};\n  if (left-- > 0) return again(x) + 1;\n  return ${next}(x) + left;`,
];

/** A C program of up to a dozen functions of random kinds, each of which calls the next; the last one crashes. */
export function madeUpProgram(seed: number): string {
  const numbers = randomNumbers(seed);
  const random: Random = (below) => Math.floor(numbers() * below);
  const count = 4 + random(9);
  let functions = "";
  for (let index = count - 1; index >= 0; index--) {
    const next = index + 1 < count ? `f${index + 1}` : "crash";
    const body = STEPS[random(STEPS.length)]!(next, random).replaceAll("again(", `f${index}(`);
    const linkage = ["", "static ", "static inline ", "__attribute__((noinline)) "][random(4)]!;
    functions += `${linkage}int f${index}(int x) {\n  ${body}\n}\n`;
  }
  return `
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
volatile int sink; char *volatile bad; int (*volatile chosen)(int); static int (*wanted)(int);
__attribute__((noinline)) void fill(char *room, unsigned size) { memset(room, sink, size); }
__attribute__((noinline)) int sum(int count, ...) {
  va_list list; int all = 0; va_start(list, count);
  while (count-- > 0) all += va_arg(list, int);
  va_end(list); return all;
}
__attribute__((noinline)) int compare(const void *a, const void *b) {
  int value = wanted(*(const int *)a);
  return value - *(const int *)b;
}
__attribute__((noinline)) int crash(int x) { *bad = x; return sink; }
${functions}
int main(int count, char **arguments) {
  int result = f0(count);
  printf("%d %s\\n", result, arguments[0]);
}`;
}
