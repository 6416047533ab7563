/* Search trees of random numbers that are filled, walked through and given back. */
#include <stdio.h>
#include <stdlib.h>

struct tree {
  struct tree *left, *right;
  unsigned key;
};

static void add(struct tree **at, unsigned key) {
  while (*at != NULL) {
    if ((*at)->key == key)
      return;
    at = key < (*at)->key ? &(*at)->left : &(*at)->right;
  }
  *at = malloc(sizeof **at);
  (*at)->left = (*at)->right = NULL;
  (*at)->key = key;
}

static unsigned sum(const struct tree *tree) {
  return tree == NULL ? 0 : tree->key + sum(tree->left) + sum(tree->right);
}

static void end(struct tree *tree) {
  if (tree == NULL)
    return;
  end(tree->left);
  end(tree->right);
  free(tree);
}

int main(void) {
  unsigned seed = 1, total = 0;
  for (int time = 0; time < 2400; time++) {
    struct tree *tree = NULL;
    for (int i = 0; i < 4000; i++)
      add(&tree, (seed = seed * 1103515245u + 12345) >> 8);
    for (int i = 0; i < 10; i++)
      total += sum(tree);
    end(tree);
  }
  printf("%u\n", total);
  return 0;
}
