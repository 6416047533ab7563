// Reads the files that a process is made of, its own among them, in all ways that programs have, and prints what it found.
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static void print_sum(const char *how, int file) {
  if (file < 0) {
    printf("%s: cannot be opened\n", how);
    return;
  }
  struct stat about;
  fstat(file, &about);
  unsigned sum = 0;
  unsigned char bytes[4096];
  long all = 0;
  for (long got; (got = read(file, bytes, sizeof bytes)) > 0; all += got)
    for (long i = 0; i < got; i++) sum = sum * 31 + bytes[i];
  printf("%s: %ld of %ld bytes, %u\n", how, all, (long)about.st_size, sum);
  close(file);
}

static long raw_open(const char *path) {
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(2), "D"(path), "S"(0), "d"(0) : "rcx", "r11", "memory");
  return result;
}

static void look(const char *path) {
  printf("%s\n", path);
  print_sum("open", open(path, O_RDONLY));
  print_sum("openat", openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
  print_sum("syscall", syscall(SYS_openat, AT_FDCWD, path, O_RDONLY));
  print_sum("raw", raw_open(path));
  unsigned long how[3] = {O_RDONLY, 0, 0};
  print_sum("openat2", syscall(SYS_openat2, AT_FDCWD, path, how, sizeof how));
  FILE *stream = fopen(path, "rb");
  fseek(stream, -16, SEEK_END);
  printf("fseek: %ld\n", ftell(stream));
  fclose(stream);
  int place = open(path, O_PATH);
  char name[64];
  snprintf(name, sizeof name, "/proc/self/fd/%d", place);
  print_sum("O_PATH", open(name, O_RDONLY));
  close(place);

  struct stat about, again;
  stat(path, &about);
  lstat(path, &again);
  printf("stat: %ld, lstat: %ld\n", (long)about.st_size, (long)again.st_size);
  fstatat(AT_FDCWD, path, &again, 0);
  struct statx more;
  statx(AT_FDCWD, path, 0, STATX_ALL, &more);
  printf("statx: %ld, the same file %d %d\n", (long)more.stx_size,
         again.st_ino == about.st_ino && more.stx_ino == about.st_ino,
         makedev(more.stx_dev_major, more.stx_dev_minor) == about.st_dev);
  int file = open(path, O_RDONLY);
  fstat(file, &again);
  printf("fstat: %d, inode %ld\n", again.st_ino == about.st_ino && again.st_dev == about.st_dev, (long)about.st_ino);
  unsigned char *mapped = mmap(0, about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  unsigned sum = 0;
  for (long i = 0; i < about.st_size; i++) sum = sum * 31 + mapped[i];
  printf("mmap: %u\n", sum);
  munmap(mapped, about.st_size);
  char copy[] = "/tmp/memshade-copy-XXXXXX";
  int target = mkstemp(copy);
  printf("sendfile: %ld\n", (long)sendfile(target, file, 0, about.st_size));
  lseek(target, 0, SEEK_SET);
  print_sum("copy", target);
  unlink(copy);
  close(file);
}

static int look_at_object(struct dl_phdr_info *object, size_t size, void *none) {
  if (object->dlpi_name[0] == '/' && strstr(object->dlpi_name, "memshade") == NULL) look(object->dlpi_name);
  return 0;
}

int main(void) {
  look("/proc/self/exe");
  dl_iterate_phdr(look_at_object, NULL);
  printf("none: %d\n", open("/nothing/there", O_RDONLY));
  return 0;
}
