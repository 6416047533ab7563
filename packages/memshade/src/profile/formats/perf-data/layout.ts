/** Numbers of the perf.data format: `linux/perf_event.h`, and perf's `perf.data-file-format.txt`. */

/** Magic "PERFILE2" as two little-endian words. */
export const MAGIC_LOW = 0x46524550;
export const MAGIC_HIGH = 0x32454c49;
/** Header size of a file that was written to a pipe. Its header data is stored in records. */
export const PIPE_HEADER_BYTES = 16;
export const FILE_HEADER_BYTES = 104;
export const RECORD_HEADER_BYTES = 8;

export const RecordType = {
  Mmap: 1,
  Lost: 2,
  Comm: 3,
  Fork: 7,
  Sample: 9,
  Mmap2: 10,
  LostSamples: 13,
  /** First record type that perf writes itself. The kernel did not write such a record, so no sample id follows it. */
  FirstUser: 64,
  HeaderAttr: 64,
  TracingData: 66,
  HeaderBuildId: 67,
  FinishedRound: 68,
  AuxTrace: 71,
  EventUpdate: 78,
  HeaderFeature: 80,
  Compressed: 81,
  Compressed2: 83,
} as const;

export const MISC_MMAP_BUILD_ID = 1 << 14;
export const MISC_BUILD_ID_SIZE = 1 << 15;

export const Feature = { BuildId: 2, Arch: 6, CommandLine: 11, EventDescription: 12 } as const;

/** Bits of `sample_type` in the order of their fields in a sample, except that Identifier comes first. */
export const SampleBit = {
  Ip: 1,
  Tid: 2,
  Time: 4,
  Address: 8,
  Read: 0x10,
  CallChain: 0x20,
  Id: 0x40,
  Cpu: 0x80,
  Period: 0x100,
  StreamId: 0x200,
  Raw: 0x400,
  BranchStack: 0x800,
  UserRegisters: 0x1000,
  UserStack: 0x2000,
  Identifier: 0x10000,
} as const;

/** Bit 18 of the flags of an event: other records than samples end in a sample id too. */
export const FLAG_SAMPLE_ID_ALL = 1 << 18;

/** DWARF numbers of perf's user registers; −1 for registers that unwinding does not use. */
// biome-ignore format: ax bx cx dx si di bp sp, ip flags cs ss, ds es fs gs, r8 to r15
export const X86_64_REGISTERS: readonly number[] = [
  0, 3, 2, 1, 4, 5, 6, 7, 16, -1, -1, -1, -1, -1, -1, -1, 8, 9, 10, 11, 12, 13, 14, 15,
];
/** DWARF order: x0 to x30, sp, pc. */
export const AARCH64_REGISTERS: readonly number[] = Array.from({ length: 33 }, (_, number) => number);
