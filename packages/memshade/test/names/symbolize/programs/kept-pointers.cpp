// An array of more than 1 MiB whose pointer is kept in different places, one for each name that is defined. Of each product, `stock` is
// stored to and never read.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct Product { long long id; double price; int stock; int weight; char name[24]; };
struct Index { int at; int hash; };
#define N 40000
static int fillAll(Product *all, int n) { for (int i = 0; i < n; i++) { ((volatile Product *)all)[i].id = i; ((volatile Product *)all)[i].price = i * 2; ((volatile Product *)all)[i].stock = 5; ((volatile Product *)all)[i].weight = i; all[i].name[0] = i; } return n; }
static double sumAll(Product *all, int n) { double s = 0; for (int i = 0; i < n; i++) { volatile Product *p = all + i; s += p->id + p->price + p->weight + p->name[0]; } return s; }
#ifdef MEMBER
struct Store {
  int count_ = 0; Index *index_ = nullptr; Product *products_ = nullptr;
  __attribute__((noinline)) void open(int n) {
    count_ = n;
    products_ = static_cast<Product *>(malloc(n * sizeof(Product)));
  }
  double run() { fillAll(products_, count_); return sumAll(products_, count_); }
};
Store store;
int main(int c, char **v) { store.open(N); printf("%f\n", store.run()); return 0; }
#elif defined(STATIC)
static Product *products; static Index *index_;
__attribute__((noinline)) void open(int n) {
  products = static_cast<Product *>(malloc(n * sizeof(Product)));
}
int main(int c, char **v) { open(N); fillAll(products, N); printf("%f %p\n", sumAll(products, N), index_); return 0; }
#elif defined(LOCAL)
int main(int c, char **v) { Product *products; Index *index = nullptr;
  int n = N + c - 1;
  products = static_cast<Product *>(malloc(n * sizeof(Product)));
  fillAll(products, n); printf("%f %p\n", sumAll(products, n), index); return 0; }
#elif defined(DECLARED)
int main(int c, char **v) {
  Product *products = static_cast<Product *>(malloc(N * sizeof(Product)));
  fillAll(products, N); printf("%f\n", sumAll(products, N)); return 0; }
#elif defined(REFERENCE)
__attribute__((noinline)) void open(Product *&out, int n) {
  out = static_cast<Product *>(malloc(n * sizeof(Product)));
}
int main(int c, char **v) { Product *products; open(products, N); fillAll(products, N); printf("%f\n", sumAll(products, N)); return 0; }
#elif defined(NESTED)
struct Inner { Index *index; int n; Product *products; };
struct Outer { long pad; Inner inner; 
  __attribute__((noinline)) void open(int n) {
    inner.n = n;
    inner.products = static_cast<Product *>(malloc(n * sizeof(Product)));
  } };
static Outer outer;
int main(int c, char **v) { outer.open(N); fillAll(outer.inner.products, N); printf("%f\n", sumAll(outer.inner.products, N)); return 0; }
#elif defined(ROWS)
struct Table { Index *index; Product *rows[3];
  __attribute__((noinline)) void open(int n) {
    for (int i = 0; i < 3; i++)
      rows[i] = static_cast<Product *>(malloc(n * sizeof(Product)));
  } };
static Table table;
int main(int c, char **v) { table.open(N); double s = 0; for (int i = 0; i < 3; i++) { fillAll(table.rows[i], N); s += sumAll(table.rows[i], N); } printf("%f\n", s); return 0; }
#elif defined(VECTOR)
#include <vector>
int main(int c, char **v) { std::vector<Product> all; all.resize(N); fillAll(all.data(), N); printf("%f\n", sumAll(all.data(), N)); return 0; }
#elif defined(UNIQUE)
#include <memory>
struct Shelf { std::unique_ptr<Product[]> products;
  __attribute__((noinline)) void open(int n) {
    products.reset(new Product[n]);
  } };
static Shelf shelf;
int main(int c, char **v) { shelf.open(N); fillAll(shelf.products.get(), N); printf("%f\n", sumAll(shelf.products.get(), N)); return 0; }
#elif defined(CALLOC)
struct Store2 { int n; Product *products; };
__attribute__((noinline)) void open(Store2 *s, int n) {
  s->n = n;
  s->products = (Product *)calloc(n, sizeof(Product));
}
static Store2 s;
int main(int c, char **v) { open(&s, N); fillAll(s.products, N); printf("%f\n", sumAll(s.products, N)); return 0; }
#endif
