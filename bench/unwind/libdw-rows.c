/* Evaluates every row of a file's .eh_frame with libdw, as the peer of bench/unwind/load.ts.
 *
 * Build: cc -O2 -o libdw-rows libdw-rows.c -ldw -lelf     (Debian: libdw-dev)
 * Run:   ./libdw-rows FILE
 */
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static Elf_Data *find_section(Elf *elf, const char *wanted) {
  size_t names;
  if (elf_getshdrstrndx(elf, &names) != 0) return NULL;
  Elf_Scn *section = NULL;
  while ((section = elf_nextscn(elf, section)) != NULL) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == NULL) continue;
    const char *name = elf_strptr(elf, names, header.sh_name);
    if (name != NULL && strcmp(name, wanted) == 0) return elf_rawdata(section, NULL);
  }
  return NULL;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  elf_version(EV_CURRENT);
  int fd = open(argv[1], O_RDONLY);
  Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
  Elf_Data *data = elf == NULL ? NULL : find_section(elf, ".eh_frame");
  Dwarf_CFI *cfi = elf == NULL ? NULL : dwarf_getcfi_elf(elf);
  if (data == NULL || cfi == NULL) return 1;
  const unsigned char *ident = (const unsigned char *)elf_getident(elf, NULL);
  GElf_Ehdr ehdr;
  gelf_getehdr(elf, &ehdr);
  unsigned long fdes = 0, rows = 0, sum = 0;
  /* Addresses of FDEs: the section's address, from the header of its own section. */
  GElf_Addr section_address = 0;
  size_t names;
  elf_getshdrstrndx(elf, &names);
  for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s)) != NULL;) {
    GElf_Shdr header;
    gelf_getshdr(s, &header);
    const char *name = elf_strptr(elf, names, header.sh_name);
    if (name != NULL && strcmp(name, ".eh_frame") == 0) section_address = header.sh_addr;
  }
  Dwarf_Off next = 0;
  for (Dwarf_Off offset = 0; offset != (Dwarf_Off)-1; offset = next) {
    Dwarf_CFI_Entry entry;
    int result = dwarf_next_cfi(ident, data, true, offset, &next, &entry);
    if (result > 0) break;
    if (result < 0 || dwarf_cfi_cie_p(&entry)) continue;
    /* 0x1b, the encoding that x86-64 objects use: pc-relative signed 32 bits. */
    const unsigned char *field = entry.fde.start;
    int relative, range;
    memcpy(&relative, field, 4);
    memcpy(&range, field + 4, 4);
    Dwarf_Addr at = section_address + (field - (const unsigned char *)data->d_buf) + relative;
    const Dwarf_Addr end = at + range;
    fdes++;
    while (at < end) {
      Dwarf_Frame *frame;
      if (dwarf_cfi_addrframe(cfi, at, &frame) != 0) break;
      Dwarf_Addr row_start, row_end;
      bool is_signal;
      dwarf_frame_info(frame, &row_start, &row_end, &is_signal);
      Dwarf_Op *ops;
      size_t count;
      if (dwarf_frame_cfa(frame, &ops, &count) == 0 && count > 0) sum += ops[0].number;
      rows++;
      free(frame);
      at = row_end > at ? row_end : end;
    }
  }
  printf("%lu FDEs, %lu rows, %lu\n", fdes, rows, sum);
  return 0;
}
