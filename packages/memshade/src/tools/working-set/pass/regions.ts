import { readS32Leb } from "../../../bytes/leb128.ts";
import { ByteWriter } from "../../../bytes/writer.ts";
import { FunctionFact, type ModuleScan } from "../../../rewrite/facts/module-scan.ts";
import {
  bytesOf,
  globalType,
  I32,
  importsOf,
  type MemoryType,
  memoryType,
  readNames,
  type WasmModule,
} from "../../../wasm/index.ts";
import * as Op from "../../../wasm/op.generated.ts";
import type { ToolSurroundings } from "../../tool.ts";
import { LINE_SHIFT } from "./marks/line-of-address.ts";

const LINE_BYTES = 64;
const PAGE_BYTES = 65_536;
const HEAP_ALIGNMENT = 16;
/** Behind every line of a memory of 4 GiB. */
const LINES_OF_ALL_MEMORY = 2 ** 32 / LINE_BYTES;
const HEAP_BASE_NAME = /^(.*[/.])?__heap_base$/;

/** Which lines of a program's memory are its stack, and where its heap begins. */
export interface Regions {
  stackFrom: number;
  stackTo: number;
  /** −1: not known; what is no stack counts as static data then. */
  heapFrom: number;
  /** Code that pushes the regions' lines, in a module that learns them while it runs. */
  code?: { STACK_FROM: Uint8Array; STACK_TO: Uint8Array; HEAP_FROM: Uint8Array };
}

type RegionFacts = Pick<ToolSurroundings, "module" | "scan" | "allocator" | "stackPointer" | "memory">;
type ByteRegions = Pick<Regions, "stackFrom" | "stackTo" | "heapFrom">;
/** Where the heap begins in programs in which nobody hands out memory. */
const NO_HEAP = 2 ** 32;

/**
 * The layout that linkers give to C, C++ and Rust programs: the stack lies below the first value of its pointer, down
 * to the static data, or to address 0 where the data lies above it. The heap begins at `__heap_base`, at the top of a
 * stack that lies above the data, or behind the static data. Where that ends no module says: the allocator knows.
 */
export function findRegions(around: ToolSurroundings): Regions {
  const code = linkedRegions(around.module);
  if (code !== undefined) return { stackFrom: 0, stackTo: 0, heapFrom: -1, code };
  const { stackFrom, stackTo, heapFrom } = findByteRegions(around);
  return {
    stackFrom: Math.ceil(stackFrom / LINE_BYTES),
    stackTo: Math.ceil(stackTo / LINE_BYTES),
    heapFrom: heapFrom < 0 ? -1 : heapFrom === NO_HEAP ? LINES_OF_ALL_MEMORY : Math.ceil(heapFrom / LINE_BYTES),
  };
}

/** The same in bytes, of a module that knows them before it runs. `heapFrom`: −1 where it is not known, `NO_HEAP`. */
export function findByteRegions({ module, scan, allocator, stackPointer, memory }: RegionFacts): ByteRegions {
  const top = initialValue(module, stackPointer);
  if (top === undefined || top <= 0) return { stackFrom: 0, stackTo: 0, heapFrom: heapBase(module) ?? -1 };
  const data = dataRange(module);
  const stackIsFirst = data === undefined || data.from >= top;
  const stackFrom = stackIsFirst ? 0 : data.to <= top ? data.to : 0;
  const behindData = Math.max(data?.to ?? 0, top);
  const growing = functionsThatGrow(scan, module.importedFunctionCount);
  // Nobody hands out memory: what is there is static data.
  const hasNoHeap =
    stackIsFirst && growing.length === 0 && allocator.how === "none" && heapBase(module) === undefined;
  if (hasNoHeap) return { stackFrom, stackTo: top, heapFrom: NO_HEAP };
  // Without better knowledge everything behind the initialised data is heap, zeroed static data too.
  const heapFrom =
    heapBase(module) ??
    (stackIsFirst
      ? (heapBaseOfAllocator(scan, growing, behindData, memoryType(module, memory)) ?? behindData)
      : top);
  return { stackFrom, stackTo: top, heapFrom };
}

/** A program that dynamic libraries are linked to gets its addresses from the loader, as globals of the table of offsets. */
function linkedRegions(module: WasmModule): Regions["code"] {
  const globals = importsOf(module, "global");
  const lineOf = (name: string): Uint8Array | undefined => {
    const index = globals.findIndex(
      ({ module: from, field, global }) => from === "GOT.mem" && field === name && global.type === I32,
    );
    if (index < 0) return undefined;
    // The line that begins at or behind the address; none for 0, which the global holds until the loader has set it.
    const code = new ByteWriter(16);
    code.u8(Op.GLOBAL_GET).u32Leb(index);
    code.u8(Op.I32_CONST).s32Leb(1).u8(Op.I32_SUB);
    code.u8(Op.I32_CONST).s32Leb(LINE_SHIFT).u8(Op.I32_SHR_U);
    return code.u8(Op.I32_CONST).s32Leb(1).u8(Op.I32_ADD).finish();
  };
  const HEAP_FROM = lineOf("__heap_base");
  if (HEAP_FROM === undefined) return undefined;
  const STACK_FROM = lineOf("__stack_low");
  const STACK_TO = lineOf("__stack_high");
  const zero = new ByteWriter(2).u8(Op.I32_CONST).s32Leb(0).finish();
  if (STACK_FROM === undefined || STACK_TO === undefined)
    return { STACK_FROM: zero, STACK_TO: zero, HEAP_FROM };
  return { STACK_FROM, STACK_TO, HEAP_FROM };
}

function heapBase(module: WasmModule): number | undefined {
  for (const entry of module.exports)
    if (entry.kind === "global" && HEAP_BASE_NAME.test(entry.name)) return initialValue(module, entry.index);
  for (const [index, name] of readNames(module).globals)
    if (HEAP_BASE_NAME.test(name)) return initialValue(module, index);
  return undefined;
}

/** Functions that grow the memory, and those that call them: allocators. */
function functionsThatGrow({ facts, callees, firstCallee }: ModuleScan, imported: number): number[] {
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
function heapBaseOfAllocator(
  { addresses, firstAddress }: ModuleScan,
  allocators: readonly number[],
  behindData: number,
  { minimum, pageSizeLog2 }: MemoryType,
): number | undefined {
  const end = minimum * 2 ** pageSizeLog2;
  const from = Math.max(behindData, end - PAGE_BYTES);
  let base: number | undefined;
  for (const index of allocators) {
    for (let at = firstAddress[index]; at < firstAddress[index + 1]; at++) {
      const address = addresses[at] >>> 0;
      if (address % HEAP_ALIGNMENT === 0 && address >= from && address <= end && address > (base ?? 0))
        base = address;
    }
  }
  return base;
}

/** What a global of the module starts with, if that is an i32 constant. */
function initialValue(module: WasmModule, global: number): number | undefined {
  const own = module.globals[global - module.importedGlobalCount];
  if (global < module.importedGlobalCount || own === undefined || globalType(module, global) === undefined)
    return undefined;
  const bytes = bytesOf(module, own.initial);
  return bytes[0] === Op.I32_CONST ? readS32Leb(bytes, 1) >>> 0 : undefined;
}

/** From the first to the last byte of the active data segments with constant addresses. */
export function dataRange(module: WasmModule): { from: number; to: number } | undefined {
  let from = Number.POSITIVE_INFINITY;
  let to = 0;
  for (const segment of module.data) {
    if (segment.mode !== "active" || segment.offset === undefined) continue;
    const bytes = bytesOf(module, segment.offset);
    if (bytes[0] !== Op.I32_CONST) continue;
    const address = readS32Leb(bytes, 1) >>> 0;
    from = Math.min(from, address);
    to = Math.max(to, address + (segment.end - segment.start));
  }
  return to === 0 ? undefined : { from, to };
}
