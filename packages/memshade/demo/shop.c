// A small service that takes orders: the program of `memshade demo`. It has five memory problems. Built with
//
//   clang-22 --target=wasm32-wasi --sysroot=/usr -O1 -g -fno-builtin -fno-inline -fno-unroll-loops -mbulk-memory --no-wasm-opt
//     -Wno-deprecated -ffile-prefix-map="$PWD/=" -fdebug-compilation-dir=. shop.c -o shop.wasm
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ORDERS = 1000, LINES = 4, PRODUCTS = 64, LINE_BYTES = 256, PAGE_BYTES = LINES * LINE_BYTES, KEPT = 50 };

struct order {
  unsigned customer, product[LINES], count[LINES];
};

struct entry {
  unsigned customer, total, products[30];
};

static unsigned prices[PRODUCTS];
static struct entry *journal[KEPT];

static unsigned random_number(void) {
  static unsigned state = 2026;
  state = state * 1664525 + 1013904223;
  return state >> 8;
}

// Builds the same price list again for every order.
static void load_prices(void) {
  for (unsigned product = 0; product < PRODUCTS; product++) prices[product] = 100 + product * 37;
}

static unsigned cheapest(void) {
  unsigned least = prices[0];
  for (unsigned product = 1; product < PRODUCTS; product++)
    if (prices[product] < least) least = prices[product];
  return least;
}

// Allocates an order, which is never freed.
static struct order *take_order(unsigned customer) {
  struct order *order = malloc(sizeof *order);
  order->customer = customer;
  for (int line = 0; line < LINES; line++) {
    order->product[line] = random_number() % PRODUCTS;
    order->count[line] = 1 + random_number() % 3;
  }
  return order;
}

// Allocates a name for each line, and frees it at once.
static unsigned name_length(unsigned product) {
  char *name = malloc(24);
  strcpy(name, "product ");
  name[8] = 'a' + product % 26;
  name[9] = 0;
  unsigned length = strlen(name);
  free(name);
  return length;
}

// Clears the page, and then overwrites all of it.
static unsigned print_bill(const struct order *order, char *page) {
  __builtin_memset(page, 0, PAGE_BYTES);
  unsigned total = 0;
  for (int line = 0; line < LINES; line++) {
    unsigned product = order->product[line];
    char *text = page + line * LINE_BYTES;
    __builtin_memset(text, ' ', LINE_BYTES);
    text[name_length(product)] = '0' + order->count[line];
    total += order->count[line] * prices[product];
  }
  return total;
}

// Writes the last orders to a journal that is never read.
static void write_journal(unsigned number, const struct order *order, unsigned total) {
  struct entry *entry = malloc(sizeof *entry);
  entry->customer = order->customer;
  entry->total = total;
  for (int i = 0; i < 30; i++) entry->products[i] = order->product[i % LINES];
  free(journal[number % KEPT]);
  journal[number % KEPT] = entry;
}

static unsigned checksum(const char *page) {
  unsigned sum = 0;
  for (int i = 0; i < PAGE_BYTES; i++) sum = sum * 31 + page[i];
  return sum;
}

int main(void) {
  char *page = malloc(PAGE_BYTES);
  unsigned sum = 0;
  for (unsigned customer = 0; customer < ORDERS; customer++) {
    load_prices();
    struct order *order = take_order(customer);
    unsigned total = print_bill(order, page);
    write_journal(customer, order, total);
    sum += checksum(page) + total - cheapest();
  }
  for (int i = 0; i < KEPT; i++) free(journal[i]);
  free(page);
  printf("served %d orders, checksum %08x\n", ORDERS, sum);
  return 0;
}
