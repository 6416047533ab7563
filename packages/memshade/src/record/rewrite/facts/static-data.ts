import {
  IMMEDIATE_KIND,
  initialValue,
  memoryType,
  opcodeIdAt,
  segmentAddress,
  skipImmediates,
  skipOpcode,
  type WasmModule,
} from "../../../code/wasm/index.ts";
import * as Op from "../../../code/wasm/op.generated.ts";
import { readS32Leb, readU32Leb } from "../../../ground/bytes/leb128.ts";
import { functionsThatGrow, heapBase, heapBaseOfAllocator } from "./data-layout.ts";
import { LOWEST_ADDRESS, type ModuleScan } from "./module-scan.ts";

/** Range of memory 0, `end` exclusive. `segment`: index of the passive segment that is copied there. */
export interface WrittenRange {
  readonly start: number;
  readonly end: number;
  readonly segment?: number | undefined;
}

export interface StaticData {
  /** First byte of the first segment. */
  readonly start: number;
  /** End of the bytes with an initial value, including known zeros. */
  readonly dataEnd: number;
  /** Start of the heap, else end of the initial memory. */
  readonly end: number;
  /** Ranges that the module's start code writes once: passive segments, and zeros after them. */
  readonly written: readonly WrittenRange[];
}

/**
 * Returns undefined for modules without data or without fixed addresses of data. A program with a stack may have zeroed
 * data without any segment.
 */
export function staticData(
  module: WasmModule,
  scan: ModuleScan,
  stackPointer: number,
): StaticData | undefined {
  const written = writtenByStart(module);
  const ranges = [...written, ...segmentRanges(module)];
  const top = initialValue(module, stackPointer);
  if (ranges.length === 0 && (module.data.length > 0 || top === undefined)) return undefined;
  const start = ranges.length === 0 ? LOWEST_ADDRESS : Math.min(...ranges.map((range) => range.start));
  const dataEnd = Math.max(start, ...ranges.map(({ end }) => end));
  // The stack follows the data here. Without data, the stack may lie before or after the zeroed data.
  if (top !== undefined && top >= dataEnd && ranges.length > 0)
    return { start, dataEnd, end: Math.max(heapBase(module) ?? top, dataEnd), written };
  const memory = memoryType(module, 0);
  const growing = functionsThatGrow(scan, module.importedFunctionCount);
  const end =
    heapBase(module) ??
    heapBaseOfAllocator(scan, growing, Math.max(dataEnd, top ?? 0), memory) ??
    memory.minimum * 2 ** memory.pageSizeLog2;
  return { start, dataEnd, end: Math.max(end, dataEnd), written };
}

/** Returns the nonempty active segments of memory 0 with constant addresses. */
function segmentRanges(module: WasmModule): WrittenRange[] {
  return module.data.flatMap((segment) => {
    const start = segmentAddress(module, segment);
    const bytes = segment.end - segment.start;
    return start === undefined || bytes === 0 ? [] : [{ start, end: start + bytes }];
  });
}

/**
 * Returns the ranges written by start code that linkers generate for passive segments, which modules with shared memory
 * have. It copies each segment to its address and clears what follows. All operands are constants.
 */
function writtenByStart(module: WasmModule): WrittenRange[] {
  if (!module.data.some(({ mode }) => mode === "passive")) return [];
  const { bytes } = module;
  for (const { codeStart, end } of module.bodies) {
    const written: WrittenRange[] = [];
    let copies = false;
    let operands: number[] = [];
    for (let at = codeStart; at < end; ) {
      const id = opcodeIdAt(bytes, at);
      const immediates = skipOpcode(bytes, at);
      if (id === Op.I32_CONST) operands.push(readS32Leb(bytes, immediates) >>> 0);
      else {
        const [address, , size] = operands.slice(-3);
        if (size !== undefined && (id === Op.MEMORY_INIT || (id === Op.MEMORY_FILL && copies))) {
          copies = true;
          const segment = id === Op.MEMORY_INIT ? { segment: readU32Leb(bytes, immediates) } : {};
          written.push({ start: address, end: address + size, ...segment });
        }
        operands = [];
      }
      at = skipImmediates(bytes, immediates, IMMEDIATE_KIND[id]);
    }
    if (copies) return written;
  }
  return [];
}

/**
 * Returns the addresses of static data that functions contain, each once, ascending. `functions`: indices in the
 * module. Powers of two and bit masks are left out: an allocator uses them as sizes. Of a variable at such an address
 * it contains other addresses, too.
 */
export function addressesIn(
  { addresses, firstAddress }: ModuleScan,
  functions: Iterable<number>,
  { importedFunctionCount }: WasmModule,
  { start, end }: StaticData,
): number[] {
  const found = new Set<number>();
  for (const index of functions) {
    const defined = index - importedFunctionCount;
    if (defined < 0) continue;
    for (let at = firstAddress[defined]; at < firstAddress[defined + 1]; at++) {
      const address = addresses[at] >>> 0;
      const isSize = (address & (address - 1)) === 0 || (address & (address + 1)) === 0;
      if (address >= start && address < end && !isSize) found.add(address);
    }
  }
  return [...found].sort((a, b) => a - b);
}
