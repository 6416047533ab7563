// A program with inlined functions, templates, lambdas and cold parts; compiled by the tests, never run.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace shop {
struct Item {
  std::string name;
  int price;
};

class Cart {
  std::vector<std::unique_ptr<Item>> items_;
  std::map<std::string, int> counts_;

 public:
  void add(const std::string& name, int price) {
    items_.push_back(std::make_unique<Item>(Item{name, price}));
    counts_[name]++;
  }
  int total() const;
  template <class Visit>
  int each(Visit visit) {
    int sum = 0;
    for (auto& item : items_) sum += visit(*item);
    return sum;
  }
};

int Cart::total() const {
  int sum = 0;
  for (auto const& item : items_) sum += item->price;
  return sum;
}
}  // namespace shop

static int tripled(int price) {
  if (price > 100) throw price;
  return price * 3;
}

int main(int count, char**) {
  shop::Cart cart;
  for (int i = 0; i < count * 5; i++) cart.add("item" + std::to_string(i), tripled(i));
  std::vector<int> order{5, 3, 1, count};
  std::sort(order.begin(), order.end(), [](int a, int b) { return a > b; });
  printf("%d %d\n", cart.total(), cart.each([&](shop::Item& item) { return item.price + order[0]; }));
  return 0;
}
