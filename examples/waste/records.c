/* Sums up records. Each one gets a clean buffer, is decoded into it in full, and is added up. */
#define RECORD_BYTES 4096
#ifndef RECORDS
#define RECORDS 20000
#endif

static unsigned char buffer[RECORD_BYTES];
static unsigned seed = 1;

__attribute__((noinline)) static void clear(unsigned char *to) {
  for (int i = 0; i < RECORD_BYTES; i += 8) *(unsigned long long *)(to + i) = 0;
}

__attribute__((noinline)) static void decode(unsigned char *to) {
  for (int i = 0; i < RECORD_BYTES; i += 8) {
    seed = seed * 1103515245u + 12345u;
    *(unsigned long long *)(to + i) = (unsigned long long)seed << 32 | i;
  }
}

__attribute__((noinline)) static unsigned long long sum(const unsigned char *from) {
  unsigned long long total = 0;
  for (int i = 0; i < RECORD_BYTES; i += 8) total += *(const unsigned long long *)(from + i);
  return total;
}

unsigned long long result;

__attribute__((export_name("_start"))) void start(void) {
  for (int record = 0; record < RECORDS; record++) {
#ifndef WITHOUT_CLEAR
    clear(buffer);
#endif
    decode(buffer);
    result += sum(buffer);
  }
}
