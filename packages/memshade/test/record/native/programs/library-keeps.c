/* Calls functions of the C library that keep blocks of their own, and some that give blocks to the program. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <iconv.h>
#include <locale.h>
#include <pthread.h>
#include <regex.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORTED __attribute__((noinline, noipa))

static __thread char large[20000];
static pthread_barrier_t ready;
static int compared;
char *given[5];
FILE *files[3];
FILE *written;
DIR *folder;
void *library;
iconv_t conversion;

static void *in_thread(void *name) {
  large[strlen(name)] = 1;
  pthread_barrier_wait(&ready);
  pause();
  return NULL;
}

static void at_exit(void) { compared++; }

static int compare(const void *a, const void *b) {
  compared++;
  return strcmp(a, b);
}

EXPORTED void sets_locale(void) { setlocale(LC_ALL, "C.UTF-8"); }
EXPORTED void sets_environment(void) {
  for (int i = 0; i < 100; i++) {
    char name[32];
    snprintf(name, sizeof name, "NAME_%d", i);
    setenv(name, "a value of some length that is copied into the environment", 1);
  }
}
EXPORTED void registers(void) {
  for (int i = 0; i < 100; i++) atexit(at_exit);
}
EXPORTED void starts_threads(void) {
  static pthread_t threads[3];
  pthread_barrier_init(&ready, NULL, 4);
  for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, in_thread, "name");
  pthread_barrier_wait(&ready);
}
EXPORTED void prints(void) { printf("%d %f\n", compared, 1.5); }
EXPORTED void opens_files(void) {
  for (int i = 0; i < 3; i++) {
    files[i] = fopen("/dev/zero", "r");
    fgetc(files[i]);
  }
  written = fopen("/dev/null", "w");
  fputs("text", written);
}
EXPORTED void opens_folder(void) {
  folder = opendir("/");
  readdir(folder);
}
EXPORTED void opens_library(const char *name) {
  library = dlopen(name, RTLD_NOW);
}
EXPORTED void compiles_expression(void) {
  static regex_t expression;
  regcomp(&expression, "a*(b|c)+[0-9]{3,7}", REG_EXTENDED);
  regexec(&expression, "aabb123", 0, NULL, 0);
}
EXPORTED void converts_text(void) {
  conversion = iconv_open("UTF-16", "ISO-8859-1");
}
EXPORTED void reads_time(void) {
  time_t now = 0;
  localtime(&now);
}
EXPORTED void sorts(void) {
  static char words[4000][8];
  qsort(words, 4000, 8, compare);
}
EXPORTED void looks_up(void) { hcreate(1000); }
EXPORTED void forgets_folder(void) { opendir("/usr"); }

/* Blocks of the program, which the C library only makes. */
EXPORTED void duplicates(const char *text) {
  char *all = malloc(5000);
  memset(all, 'a', 4999);
  all[4999] = 0;
  given[0] = strdup(all);
  given[4] = strndup(text, 4);
  free(all);
}
EXPORTED void formats(int number) { asprintf(&given[1], "%05000d", number); }
EXPORTED void reads_line(void) {
  FILE *file = fopen("/proc/self/maps", "r");
  size_t size = 0;
  getline(&given[2], &size, file);
  fclose(file);
}
EXPORTED void finds_path(void) { given[3] = realpath("/usr/bin/..", NULL); }

int main(int count, char **arguments) {
  sets_locale();
  sets_environment();
  registers();
  starts_threads();
  opens_files();
  opens_folder();
  opens_library(count > 1 ? arguments[1] : "libgcc_s.so.1");
  compiles_expression();
  converts_text();
  reads_time();
  sorts();
  looks_up();
  forgets_folder();
  duplicates("some text");
  formats(17);
  reads_line();
  finds_path();
  prints();
  return 0;
}
