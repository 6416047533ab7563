import { CONTROL, STATIC_BYTES, STATICS } from "./imports";
import { Control, Fold, FOLD_BYTES, FOLD_COUNT } from "./layout.generated";
import { bump64 } from "./records";

@inline
export function isStatic(address: u32): bool {
  return address - STATICS < STATIC_BYTES;
}

/** Keeps accesses to static data that a counter has no room for; false where there is no room for them either. */
export function foldStatic(address: u32, accesses: u64): bool {
  if (!isStatic(address)) return false;
  const granule: u32 = address & ~7;
  for (let i: u32 = 0; i < FOLD_COUNT; i++) {
    const fold: usize = CONTROL + Control.folds + i * FOLD_BYTES;
    const holder = load<u32>(fold, Fold.address);
    if (holder !== granule && holder !== 0) continue;
    store<u32>(fold, granule, Fold.address);
    bump64(fold, Fold.accesses, accesses);
    return true;
  }
  return false;
}
