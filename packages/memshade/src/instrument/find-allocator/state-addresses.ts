import { readS32Leb, readU32Leb, skipLeb32 } from "../../bytes/leb128.ts";
import {
  IMMEDIATE_KIND,
  ImmediateKind,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
  type WasmModule,
} from "../../wasm/index.ts";

/*
 * dlmalloc keeps its bins, maps and bounds in one static structure, so the constant addresses of that structure are
 * what its functions have in common and other functions do not.
 */

/** Below this there is no static data in any toolchain's layout, but plenty of small numbers. */
const LOWEST_ADDRESS = 1024;
const { None, Local, I32, Memarg } = ImmediateKind;
const FIRST_PREFIX = 0xfb;
const MEMARG_HAS_MEMORY = 0x40;

/** Calls `visit` for each `i32.const` and each load or store offset of a body that may be a static address. */
export function forEachAddress(
  bytes: Uint8Array,
  start: number,
  end: number,
  visit: (address: number) => void,
): void {
  const kinds = IMMEDIATE_KIND;
  let position = start;
  while (position < end) {
    let id = bytes[position];
    let immediates = position + 1;
    let kind = kinds[id];
    if (id >= FIRST_PREFIX) {
      id = opcodeIdAt(bytes, position);
      immediates = skipOpcode(bytes, position);
      kind = kinds[id];
    }
    if (kind === None) {
      position = immediates;
      continue;
    }
    if (kind === Local) {
      position = immediates;
      while (bytes[position++] >= 0x80);
      continue;
    }
    if (kind === I32) {
      // One-byte and two-byte constants stay below 8192: only the latter can matter.
      if (bytes[immediates] >= 0x80) {
        const value = readS32Leb(bytes, immediates);
        if (value >= LOWEST_ADDRESS) visit(value);
      }
    } else if (kind === Memarg) {
      let offset = immediates + 1;
      if (bytes[immediates] >= MEMARG_HAS_MEMORY) {
        offset = skipLeb32(bytes, immediates);
        if ((readU32Leb(bytes, immediates) & MEMARG_HAS_MEMORY) !== 0) offset = skipLeb32(bytes, offset);
      }
      if (bytes[offset] >= 0x80 && fitsU32(bytes, offset)) {
        const value = readU32Leb(bytes, offset);
        if (value >= LOWEST_ADDRESS) visit(value);
      }
    }
    position = skipImmediates(bytes, immediates, kind);
  }
}

/** Offsets of a memory64 access may take ten bytes; addresses above 4 GiB are not static data. */
function fitsU32(bytes: Uint8Array, position: number): boolean {
  for (let i = 0; i < 5; i++) if (bytes[position + i] < 0x80) return i < 4 || bytes[position + i] <= 0x0f;
  return false;
}

/** The possible static addresses that a defined function uses. */
export function addressesOf(module: WasmModule, index: number): Set<number> {
  const addresses = new Set<number>();
  const body = module.bodies[index - module.importedFunctionCount];
  if (body !== undefined)
    forEachAddress(module.bytes, body.codeStart, body.end, (address) => addresses.add(address));
  return addresses;
}

/** How many of `wanted` a defined function uses. */
export function countShared(module: WasmModule, index: number, wanted: ReadonlySet<number>): number {
  let count = 0;
  for (const address of addressesOf(module, index)) if (wanted.has(address)) count++;
  return count;
}
