/** Numbers of the minidump format (`minidumpapiset.h`, and Breakpad's `minidump_format.h` for Linux). */

export const SIGNATURE = 0x504d444d;
export const HEADER_BYTES = 32;
export const DIRECTORY_ENTRY_BYTES = 12;

export const StreamType = {
  ThreadList: 3,
  ModuleList: 4,
  MemoryList: 5,
  Exception: 6,
  SystemInfo: 7,
  Memory64List: 9,
  ThreadNames: 24,
  LinuxCpuInfo: 0x47670003,
  LinuxProcStatus: 0x47670004,
  LinuxCmdLine: 0x47670006,
  LinuxMaps: 0x47670009,
} as const;

export const THREAD_BYTES = 48;
export const MODULE_BYTES = 108;

/** Processors of the SystemInfo stream; early Breakpad used its own number for AArch64. */
export const PROCESSOR_AMD64 = 9;
export const PROCESSOR_ARM64 = 12;
export const PROCESSOR_ARM64_BREAKPAD = 0x8003;

export const CV_ELF = 0x4270454c;
/** First word of a CodeView record with a GUID, age and file name ("RSDS"). */
export const CV_PDB70 = 0x53445352;

/** Offsets of registers in a thread's context by DWARF number; each is eight bytes. */
// biome-ignore format: the order is DWARF's: rax rdx rcx rbx rsi rdi rbp rsp r8–r15 rip
export const AMD64_CONTEXT: readonly number[] = [
  120, 136, 128, 144, 168, 176, 160, 152, 184, 192, 200, 208, 216, 224, 232, 240, 248,
];
/** Order of the registers: x0 to x30, sp, pc. */
export const ARM64_CONTEXT: readonly number[] = Array.from({ length: 33 }, (_, number) => 8 + number * 8);
