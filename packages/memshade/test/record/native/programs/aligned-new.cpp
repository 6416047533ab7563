// Operators for types of a large alignment: each block counts what is asked for, once.
#include <cstddef>
#include <new>

#ifdef REPLACED
#include <cstdlib>
static int calls;
void *operator new(std::size_t size, std::align_val_t alignment) {
  calls++;
  return std::aligned_alloc(static_cast<std::size_t>(alignment), size);
}
#endif

void *volatile kept;

int main() {
  const std::align_val_t line{64};
  kept = operator new(10, line);
  kept = operator new[](11, line);
  kept = operator new(12, line, std::nothrow);
  kept = operator new[](13, line, std::nothrow);
  operator delete(operator new(20, line), line);
#ifdef REPLACED
  return calls == 5 ? 0 : 1;
#else
  return 0;
#endif
}
