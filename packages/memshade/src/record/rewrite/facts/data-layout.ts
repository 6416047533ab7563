import {
  initialValue,
  type MemoryType,
  readNames,
  segmentAddress,
  type WasmModule,
} from "../../../code/wasm/index.ts";
import { FunctionFact, type ModuleScan } from "./module-scan.ts";

// Where linkers put what a program's memory begins with. Modules hardly say it: segments have addresses, the rest follows
// from the globals that linkers make and from what allocators know.

const PAGE_BYTES = 65_536;
const HEAP_ALIGNMENT = 16;
const HEAP_BASE_NAME = /^(.*[/.])?__heap_base$/;

/** The address that the module says its heap begins at. */
export function heapBase(module: WasmModule): number | undefined {
  for (const entry of module.exports)
    if (entry.kind === "global" && HEAP_BASE_NAME.test(entry.name)) return initialValue(module, entry.index);
  for (const [index, name] of readNames(module).globals)
    if (HEAP_BASE_NAME.test(name)) return initialValue(module, index);
  return undefined;
}

/** Functions that grow the memory, and those that call them: allocators. */
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
 * The address that an allocator begins at, which linkers write into its code. They make the memory just large enough for it,
 * so that it is in the last page: the highest address there that allocators know, and a multiple of 16, is taken.
 */
export function heapBaseOfAllocator(
  { addresses, firstAddress }: ModuleScan,
  allocators: readonly number[],
  behindData: number,
  { minimum, pageSizeLog2 }: MemoryType,
): number | undefined {
  const end = minimum * 2 ** pageSizeLog2;
  const from = Math.max(behindData, end - PAGE_BYTES);
  let base: number | undefined;
  for (const index of allocators)
    for (let at = firstAddress[index]; at < firstAddress[index + 1]; at++) {
      const address = addresses[at] >>> 0;
      if (address % HEAP_ALIGNMENT === 0 && address >= from && address <= end && address > (base ?? 0))
        base = address;
    }
  return base;
}

/** From the first to the last byte of the active data segments with constant addresses. */
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
