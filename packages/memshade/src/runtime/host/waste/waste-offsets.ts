// Mirrors runtime/shadow/assembly/waste/layout.ts; test/runtime/shadow/waste-layout.test.ts compares them.
export const RECORD_BYTES = 128;
export const StoreField = {
  stores: 0,
  written: 8,
  read: 16,
  overwritten: 24,
  deallocated: 32,
  silent: 40,
  silentBytes: 48,
  same: 56,
  overZero: 64,
  approximate: 72,
  hostRead: 80,
  transitive: 88,
} as const;
export const LoadField = {
  loads: 0,
  bytes: 8,
  silent: 16,
  redundant: 24,
  redundantBytes: 32,
  zeroBytes: 40,
  approximate: 48,
  fresh: 56,
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
} as const;

/** A count of 64 bits; those beyond 2^53 are not exact. */
export function readCount(view: DataView, at: number): number {
  return view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32;
}
