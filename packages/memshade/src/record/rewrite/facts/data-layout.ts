import {
  initialValue,
  type MemoryType,
  readNames,
  segmentAddress,
  type WasmModule,
} from "../../../code/wasm/index.ts";
import { WASM_PAGE_BYTES } from "../../../ground/bytes/sizes.ts";
import { FunctionFact, type ModuleScan } from "./module-scan.ts";

// Layout of a program's initial memory, as linkers make it. A module states only the addresses of segments. The rest
// follows from globals made by linkers and from constants in allocators.

const HEAP_ALIGNMENT = 16;
const HEAP_BASE_NAME = /^(.*[/.])?__heap_base$/;

/** Returns the start of the heap according to the module's symbols. */
export function heapBase(module: WasmModule): number | undefined {
  for (const entry of module.exports)
    if (entry.kind === "global" && HEAP_BASE_NAME.test(entry.name)) return initialValue(module, entry.index);
  for (const [index, name] of readNames(module).globals)
    if (HEAP_BASE_NAME.test(name)) return initialValue(module, index);
  return undefined;
}

/** Returns the functions that grow the memory and their callers. Allocators are among them. */
export function functionsThatGrow({ facts, callees, firstCallee }: ModuleScan, imported: number): number[] {
  const grows = new Set<number>();
  facts.forEach((fact, index) => {
    if (fact & FunctionFact.Grows) grows.add(index);
  });
  const callers: number[] = [];
  facts.forEach((_, index) => {
    for (let at = firstCallee[index]; at < firstCallee[index + 1]; at++)
      if (grows.has(callees[at] - imported)) {
        callers.push(index);
        return;
      }
  });
  return [...new Set([...grows, ...callers])];
}

/**
 * Returns the start of an allocator's heap, an address that linkers write into its code. The initial memory is just
 * large enough for it, so it lies in the last page. The highest multiple of 16 in that page that allocators contain is
 * taken.
 */
export function heapBaseOfAllocator(
  { addresses, firstAddress }: ModuleScan,
  allocators: readonly number[],
  behindData: number,
  { minimum, pageSizeLog2 }: MemoryType,
): number | undefined {
  const end = minimum * 2 ** pageSizeLog2;
  const from = Math.max(behindData, end - WASM_PAGE_BYTES);
  let base: number | undefined;
  for (const index of allocators)
    for (let at = firstAddress[index]; at < firstAddress[index + 1]; at++) {
      const address = addresses[at] >>> 0;
      if (address % HEAP_ALIGNMENT === 0 && address >= from && address <= end && address > (base ?? 0))
        base = address;
    }
  return base;
}

/** Returns the range from the first to the last byte of active data segments with constant addresses. */
export function dataRange(module: WasmModule): { from: number; to: number } | undefined {
  let from = Number.POSITIVE_INFINITY;
  let to = 0;
  for (const segment of module.data) {
    const address = segmentAddress(module, segment);
    if (address === undefined) continue;
    from = Math.min(from, address);
    to = Math.max(to, address + (segment.end - segment.start));
  }
  return to === 0 ? undefined : { from, to };
}
