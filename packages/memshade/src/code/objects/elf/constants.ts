/**
 * Constants of the ELF specification (System V ABI, gABI 4.1) and its GNU extensions, as far as they are used here.
 */

export const ELF_MAGIC = 0x464c457f;

export const ELFCLASS32 = 1;
export const ELFCLASS64 = 2;
export const ELFDATA2LSB = 1;

export const ET_REL = 1;
export const ET_EXEC = 2;
export const ET_DYN = 3;
export const ET_CORE = 4;

export const EM_386 = 3;
export const EM_ARM = 40;
export const EM_PPC64 = 21;
export const EM_X86_64 = 62;
export const EM_AARCH64 = 183;
export const EM_RISCV = 243;

export const PT_LOAD = 1;
export const PT_NOTE = 4;
/** e_phnum of a file whose number of program headers exceeds 16 bits; sh_info of section 0 has the number. */
export const PN_XNUM = 0xffff;

export const SHT_SYMTAB = 2;
export const SHT_RELA = 4;
export const SHT_NOTE = 7;
export const SHT_NOBITS = 8;
export const SHT_REL = 9;
export const SHT_DYNSYM = 11;
export const SHF_ALLOC = 0x2;
export const SHF_EXECINSTR = 0x4;
export const SHF_COMPRESSED = 0x800;
/** First of the section indices with a special meaning (absolute, common, …). */
export const SHN_LORESERVE = 0xff00;
export const SHN_ABS = 0xfff1;
export const SHN_XINDEX = 0xffff;

export const ELFCOMPRESS_ZLIB = 1;
export const ELFCOMPRESS_ZSTD = 2;

export const STT_NOTYPE = 0;
export const STT_OBJECT = 1;
export const STT_FUNC = 2;
export const STT_FILE = 4;
export const STT_GNU_IFUNC = 10;
export const STB_LOCAL = 0;
export const STB_WEAK = 2;

export const NT_GNU_BUILD_ID = 3;

/** True if a flag below 2^32 is set in a number of up to 64 bits. */
export function hasFlag(flags: number, flag: number): boolean {
  return ((flags % 2 ** 32) & flag) !== 0;
}
