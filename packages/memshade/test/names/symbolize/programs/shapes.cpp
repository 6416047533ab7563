// A C++ program without headers, so that it compiles quickly and for any target; compiled by the tests, never run.
namespace geometry {
struct Shape {
  virtual int area(int scale) const = 0;
  virtual int corners() const { return 0; }
};

template <class T, int N>
struct Array {
  T items[N];
  int count = 0;
  void add(T item) {
    if (count < N) items[count++] = item;
  }
  template <class Visit>
  int each(Visit visit) const {
    int sum = 0;
    for (int i = 0; i < count; i++) sum += visit(items[i]);
    return sum;
  }
};

struct Square : Shape {
  int side;
  explicit Square(int side) : side(side) {}
  int area(int scale) const override;
  int corners() const override { return 4; }
};

struct Circle : Shape {
  int radius;
  explicit Circle(int radius) : radius(radius) {}
  int area(int scale) const override { return 3 * radius * radius * scale; }
};

int Square::area(int scale) const { return side * side * scale; }
}  // namespace geometry

namespace {
// Inlined into each other, and the innermost twice.
inline __attribute__((always_inline)) int clamp(int value) { return value > 1000 ? 1000 : value < 0 ? 0 : value; }
inline __attribute__((always_inline)) int scaled(int value) { return clamp(value * 3) + clamp(value - 7); }
inline __attribute__((always_inline)) int folded(int value) { return scaled(value) * scaled(value + 1); }

template <int Depth>
inline __attribute__((always_inline)) int tower(int value) {
  return value ^ tower<Depth - 1>(value * Depth);
}
template <>
inline __attribute__((always_inline)) int tower<0>(int value) {
  return folded(value);
}

int factorial(int n) { return n <= 1 ? 1 : n * factorial(n - 1) + clamp(n); }
}  // namespace

static volatile int sink;

__attribute__((section(".text.cold"), cold, noinline)) void report(int value) { sink = tower<3>(value); }

__attribute__((noinline)) int choose(int kind, int value) {
  switch (kind) {
    case 0: return folded(value);
    case 1: return factorial(value);
    case 2: return tower<2>(value);
    case 3: report(value); return 3;
    case 5: return clamp(value);
    case 6: return value / 3;
    default: return -1;
  }
}

extern "C" void _start() {
  geometry::Square square(sink);
  geometry::Circle circle(sink + 1);
  geometry::Array<const geometry::Shape*, 8> shapes;
  for (int i = 0; i < sink; i++) shapes.add(i % 2 ? static_cast<const geometry::Shape*>(&square) : &circle);
  int offset = sink;
  int total = shapes.each([&](const geometry::Shape* shape) { return shape->area(offset) + shape->corners(); });
  sink = choose(total, shapes.each([](const auto* shape) { return shape->corners(); }));
}

extern "C" void __cxa_pure_virtual() { sink = 0; }
