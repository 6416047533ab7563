import { I32, importsOf, initialValue, memoryType, type WasmModule } from "../../../../code/wasm/index.ts";
import * as Op from "../../../../code/wasm/op.generated.ts";
import { ByteWriter } from "../../../../ground/bytes/writer.ts";
import {
  dataRange,
  functionsThatGrow,
  heapBase,
  heapBaseOfAllocator,
} from "../../../rewrite/facts/data-layout.ts";
import type { ToolSurroundings } from "../../tool.ts";
import { LINE_SHIFT } from "./marks/line-of-address.ts";

const LINE_BYTES = 64;
/** Behind every line of a memory of 4 GiB. */
const LINES_OF_ALL_MEMORY = 2 ** 32 / LINE_BYTES;

/** Which lines of a program's memory are its stack, and where its heap begins. */
export interface Regions {
  stackFrom: number;
  stackTo: number;
  /** −1: not known; what is no stack counts as static data then. */
  heapFrom: number;
  /** Code that pushes the regions' lines, in a module that learns them while it runs. */
  code?: { STACK_FROM: Uint8Array; STACK_TO: Uint8Array; HEAP_FROM: Uint8Array };
}

/**
 * The layout that linkers give to C, C++ and Rust programs: the stack lies below the first value of its pointer, down
 * to the static data, or to address 0 where the data lies above it. The heap begins at `__heap_base`, at the top of a
 * stack that lies above the data, or behind the static data. Where that ends no module says: the allocator knows.
 */
export function findRegions({ module, scan, allocator, stackPointer, memory }: ToolSurroundings): Regions {
  const top = initialValue(module, stackPointer);
  const code = linkedRegions(module);
  if (code !== undefined) return { stackFrom: 0, stackTo: 0, heapFrom: -1, code };
  if (top === undefined || top <= 0) {
    const base = heapBase(module);
    return { stackFrom: 0, stackTo: 0, heapFrom: base === undefined ? -1 : Math.ceil(base / LINE_BYTES) };
  }
  const data = dataRange(module);
  const stackIsFirst = data === undefined || data.from >= top;
  const stackFrom = stackIsFirst ? 0 : data.to <= top ? Math.ceil(data.to / LINE_BYTES) : 0;
  const behindData = Math.max(data?.to ?? 0, top);
  const growing = functionsThatGrow(scan, module.importedFunctionCount);
  // Nobody hands out memory: what is there is static data.
  const hasNoHeap =
    stackIsFirst && growing.length === 0 && allocator.how === "none" && heapBase(module) === undefined;
  if (hasNoHeap) return { stackFrom, stackTo: Math.ceil(top / LINE_BYTES), heapFrom: LINES_OF_ALL_MEMORY };
  // Without better knowledge everything behind the initialised data is heap, zeroed static data too.
  const heapFrom =
    heapBase(module) ??
    (stackIsFirst
      ? (heapBaseOfAllocator(scan, growing, behindData, memoryType(module, memory)) ?? behindData)
      : top);
  return {
    stackFrom,
    stackTo: Math.ceil(top / LINE_BYTES),
    heapFrom: Math.ceil(heapFrom / LINE_BYTES),
  };
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
