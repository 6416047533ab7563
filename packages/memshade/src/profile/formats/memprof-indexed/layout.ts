export const MAGIC = Uint8Array.of(0xff, 0x6c, 0x70, 0x72, 0x6f, 0x66, 0x69, 0x81);

/** Bit 62 of the container's version: the file has a memory profile. */
export const HAS_MEMPROF = 1n << 62n;

export type ContainerVersion = 8 | 9 | 10 | 11 | 12 | 13;
export const OLDEST_CONTAINER = 8;
export const NEWEST_CONTAINER = 13;

export type MemprofVersion = 2 | 3 | 4;
export const NEWEST_MEMPROF = 4;

export function containerHeaderBytes(version: number): number {
  if (version < 8) return 40;
  return version === 8 ? 48 : version === 9 ? 56 : version < 12 ? 64 : 72;
}

/** Cutoffs of the PGO summary. In a memory profile all of its counts are zero. */
export const SUMMARY_CUTOFFS: readonly number[] = [
  10000, 100000, 200000, 300000, 400000, 500000, 600000, 700000, 800000, 900000, 950000, 990000, 999000,
  999900, 999990, 999999,
];
export const SUMMARY_FIELDS = 6;
export const SUMMARY_BYTES = 16 + 8 * SUMMARY_FIELDS + 24 * SUMMARY_CUTOFFS.length;

/** Layout: Function u64, LineOffset u32, Column u32, IsInlineFrame u8. */
export const FRAME_BYTES = 17;

export const MEMPROF_SUMMARY_FIELDS = 6;

export function padTo8(size: number): number {
  return Math.ceil(size / 8) * 8;
}
