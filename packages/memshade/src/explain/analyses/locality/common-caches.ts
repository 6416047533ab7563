/** Size of a cache line, bytes. */
export const LINE_BYTES = 64;

/** A data cache of a common machine, to mark on a curve. Sizes in bytes, per core unless shared. */
export interface CommonCache {
  name: string;
  bytes: number;
}

const KIB = 1024;
const MIB = 1024 * KIB;

/** Smallest first. Vendors' data sheets: typical sizes, not those of the machine that runs the profile. */
export const COMMON_CACHES: readonly CommonCache[] = [
  { name: "L1 32 KiB (most x86-64, small Arm cores)", bytes: 32 * KIB },
  { name: "L1 48 KiB (Intel since Ice Lake)", bytes: 48 * KIB },
  { name: "L1 128 KiB (Apple performance cores)", bytes: 128 * KIB },
  { name: "L2 256 KiB (older x86-64)", bytes: 256 * KIB },
  { name: "L2 512 KiB (AMD Zen 2, Zen 3; phones)", bytes: 512 * KIB },
  { name: "L2 1 MiB (AMD Zen 4; servers)", bytes: MIB },
  { name: "L2 2 MiB (Intel since Alder Lake)", bytes: 2 * MIB },
  { name: "L3 8 MiB (laptops)", bytes: 8 * MIB },
  { name: "L2 16 MiB (Apple, shared)", bytes: 16 * MIB },
  { name: "L3 32 MiB (desktops)", bytes: 32 * MIB },
  { name: "L3 96 MiB (AMD with stacked cache)", bytes: 96 * MIB },
];
