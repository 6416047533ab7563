// Mirrors tools/waste/assembly/layout.ts; test/tools/waste/waste-layout.test.ts compares them.
export const RECORD_BYTES = 128;
export const StoreField = {
  stores: 0,
  read: 8,
  deallocated: 16,
  silent: 24,
  hostRead: 32,
  written: 40,
  silentBytes: 48,
  same: 56,
  overwritten: 64,
  overZero: 72,
  approximate: 80,
  transitive: 88,
  lanes: 104,
  overSegment: 112,
} as const;
export const LoadField = {
  loads: 0,
  fresh: 8,
  bytes: 16,
  silent: 24,
  redundant: 32,
  redundantBytes: 40,
  zeroBytes: 48,
  approximate: 56,
} as const;
export const ControlField = {
  pages: 8,
  outside: 12,
  nodeNext: 20,
  storeKeys: 24,
  loadKeys: 28,
  pairsUsed: 32,
  pairsLost: 36,
  keysLost: 40,
  clock: 88,
  copyNext: 100,
  copiesLost: 108,
  refused: 116,
  frameNext: 144,
} as const;

/** A count of 64 bits; those beyond 2^53 are not exact. */
export function readCount(view: DataView, at: number): number {
  return view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32;
}
