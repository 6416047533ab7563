// Recursion of three kinds. `list`: each block is allocated one call deeper. `tree`: from two calls of one function. `circle`: six
// functions that call each other in any order, a path for each order. Prints how many blocks it has allocated.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
  struct node *next[2];
};

static long blocks;
static unsigned seed = 1;

static unsigned next_random(void) {
  seed = seed * 1664525u + 1013904223u;
  return seed >> 8;
}

__attribute__((noinline)) struct node *make(void) {
  blocks++;
  return calloc(1, sizeof(struct node));
}

__attribute__((noinline)) struct node *list(int depth) {
  struct node *node = make();
  if (depth > 0) node->next[0] = list(depth - 1);
  return node;
}

__attribute__((noinline)) struct node *tree(int depth) {
  struct node *node = make();
  if (depth > 0) {
    node->next[0] = tree(depth - 1);
    node->next[1] = tree(depth - 1);
  }
  return node;
}

#define CIRCLE(name, a, b, c, d)                                                                                       \
  __attribute__((noinline)) struct node *name(int depth) {                                                             \
    struct node *node = make();                                                                                        \
    if (depth > 0)                                                                                                     \
      switch (next_random() % 4) {                                                                                     \
      case 0: node->next[0] = a(depth - 1), node->next[1] = b(depth - 1); break;                                       \
      case 1: node->next[0] = b(depth - 1), node->next[1] = c(depth - 1); break;                                       \
      case 2: node->next[0] = c(depth - 1), node->next[1] = d(depth - 1); break;                                       \
      default: node->next[0] = d(depth - 1), node->next[1] = a(depth - 1);                                             \
      }                                                                                                                \
    return node;                                                                                                       \
  }

struct node *one(int), *two(int), *three(int), *four(int), *five(int), *six(int);
CIRCLE(one, two, three, six, one)
CIRCLE(two, three, one, four, six)
CIRCLE(three, one, two, five, four)
CIRCLE(four, five, one, two, six)
CIRCLE(five, four, one, six, three)
CIRCLE(six, one, two, three, five)

static void release(struct node *node) {
  while (node != NULL) {
    struct node *next = node->next[0];
    release(node->next[1]);
    free(node);
    node = next;
  }
}

int main(int count, char **words) {
  const char *kind = count > 1 ? words[1] : "";
  for (int i = 0; i < 8; i++)
    release(strcmp(kind, "list") == 0 ? list(100 * i) : strcmp(kind, "tree") == 0 ? tree(10) : five(14));
  printf("%ld\n", blocks);
  return 0;
}
