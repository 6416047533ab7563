// Functions whose names are hard to tell from debug information alone, each of which calls the next.

extern "C" void stop();

int counter;
volatile int sink;

template <class First, class... Rest> struct Pack {
  template <unsigned N> __attribute__((noinline)) static void run(First first, Rest...) {
    stop();
    sink = N + first;
  }
};

template <auto V> __attribute__((noinline)) void value() {
  Pack<int>::run<42u>(3);
  sink = 1;
}

template <class... Types> __attribute__((noinline)) void many(Types...) {
  value<42u>();
  sink = 1;
}

namespace {
struct Hidden {
  __attribute__((noinline)) void go() {
    many(1, 2u, 'c');
    sink = 1;
  }
};

template <class Type> __attribute__((noinline)) void hiddenTemplate(Type) {
  Hidden().go();
  sink = 1;
}

template <class Type> __attribute__((always_inline)) inline void hiddenInline(Type value) {
  hiddenTemplate(value);
  sink = 1;
}
}  // namespace

__attribute__((noinline)) static void onlyHere(int x) {
  hiddenInline(x);
  sink = 1;
}

typedef struct {
  int x;
  __attribute__((noinline)) void member() {
    onlyHere(x);
    sink = 1;
  }
} NamedByTypedef;

struct Outer {
  struct {
    __attribute__((noinline)) void unnamed() {
      NamedByTypedef named = {2};
      named.member();
      sink = 1;
    }
  } inner;
};

template <bool B, char C, long long L> __attribute__((always_inline)) inline void inlined() {
  Outer().inner.unnamed();
  sink = 1;
}

enum class Choice : unsigned char { first, second };

template <Choice C, int *P> __attribute__((noinline)) void pointed() {
  inlined<true, 'x', -5LL>();
  sink = *P;
}

template <class Function> __attribute__((noinline)) void call(Function function) {
  function(1);
  sink = 1;
}

struct Resource {
  __attribute__((noinline)) ~Resource() {
    call([](auto) {
      pointed<Choice::second, &counter>();
      sink = 1;
    });
    sink = 1;
  }
};

struct Operators {
  __attribute__((noinline)) operator int() {
    Resource resource;
    sink = 1;
    return 1;
  }
  __attribute__((noinline)) int operator()(int) {
    int converted = *this;
    sink = converted;
    return converted;
  }
};

__attribute__((noinline)) static int fromLambda() {
  auto lambda = [](int value) __attribute__((noinline)) { return Operators()(value) + sink; };
  return lambda(1);
}

#ifndef LIBRARY
extern "C" void stop() { __builtin_trap(); }
int main() { return fromLambda(); }
#endif
