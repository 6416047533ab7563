// A catalogue for docs/guides/hints-for-the-compiler.md, which says how it is built. Entries are looked at all the time, texts nearly never.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

struct Entry {
  uint64_t key;
  Entry *next;
  uint64_t price, shelf;
};
struct Text {
  char words[448];
};

#ifdef HINTS
enum class __hot_cold_t : uint8_t;
void *operator new(std::size_t size, __hot_cold_t hint) {
  static char *at, *end;
  if (static_cast<uint8_t>(hint) >= 128) return ::operator new(size);
  size = (size + 15) & ~std::size_t{15};
  if (at == nullptr || size > std::size_t(end - at)) {
    at = static_cast<char *>(std::malloc(1 << 20));
    end = at + (1 << 20);
  }
  void *block = at;
  at += size;
  return block;
}
#endif

__attribute__((noinline)) Entry *makeEntry(uint64_t key, Entry *next) {
  return new Entry{key, next, key % 997, key % 13};
}

__attribute__((noinline)) Text *makeText(uint64_t key) {
  Text *text = new Text;
  snprintf(text->words, sizeof text->words, "item %lu", key);
  return text;
}

constexpr uint64_t entries = 200'000;
Text *texts[entries];

int main() {
  const uint64_t rounds = 75;
  Entry *first = nullptr;
  for (uint64_t key = 0; key < entries; key++) {
    first = makeEntry(key, first);
    texts[key] = makeText(key);
  }
  uint64_t sum = 0;
  for (uint64_t round = 0; round < rounds; round++)
    for (const Entry *entry = first; entry != nullptr; entry = entry->next) sum += entry->price * entry->shelf;
  for (uint64_t key = 0; key < entries; key += 1000) sum += texts[key]->words[5];
  printf("%lu\n", sum);
}
