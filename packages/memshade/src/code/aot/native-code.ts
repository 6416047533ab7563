import { segmentAddress } from "../wasm/constant-values.ts";
import { functionName, readNames } from "../wasm/names.ts";
import type { AssembledCode } from "../x64/index.ts";
import { C_FUNCTION } from "./emit/control.ts";
import type { WrittenFunction } from "./emit/function.ts";
import type { ModuleContext } from "./module-context.ts";

/**
 * Four bytes of the code at `offset` that get the distance from there to what is named, plus `addend`. `c`: the GOT entry of the C
 * function `name`; `thread`: the GOT entry with the offset of the image's thread-local storage; `memory`: the word with the
 * address of linear memory; `text` and `scratch`: the areas of the image with these names.
 */
export interface CodeRelocation {
  kind: "c" | "thread" | "memory" | "text" | "scratch";
  name: string;
  offset: number;
  addend: number;
}

/** From `offset` on, the canonical frame address is `cfa` bytes above the stack pointer. */
export interface FrameRow {
  offset: number;
  cfa: number;
}

/** A stretch of code with frame rows of its own. */
export interface CodeFunction {
  name: string;
  /** `[start, end)` in the code. */
  start: number;
  end: number;
  rows: FrameRow[];
  /** Registers that lie `at` bytes below the canonical frame address, from `offset` on, by their numbers in the instruction set. */
  saved: { register: number; offset: number; at: number }[];
  /** From the offset on, the canonical frame address is 16 bytes above rbp instead. */
  framePointer?: { from: number; to: number };
}

/** Machine code of a module: it runs at any address. */
export interface NativeCode {
  /** instructions, and from `literals` on constants and tables; at a multiple of 16 bytes in memory */
  code: Uint8Array;
  literals: number;
  /** offset of each exported function */
  entries: Map<string, number>;
  relocations: CodeRelocation[];
  functions: CodeFunction[];
  /** What mutable globals hold first: bytes at a distance, negative, of linear memory's beginning. */
  globals: { at: number; bytes: Uint8Array }[];
  /** What linear memory holds first. */
  data: { address: number; bytes: Uint8Array }[];
}

interface Parts {
  context: ModuleContext;
  entries: ReadonlyMap<string, number>;
  written: ReadonlyMap<number, WrittenFunction>;
  opener: WrittenFunction | undefined;
}

export function nativeCode(
  assembled: AssembledCode,
  { context, entries, written, opener }: Parts,
): NativeCode {
  const { wasm } = context;
  const { bytes: code, literals, offsetOf } = assembled;
  const names = readNames(wasm);
  const functions = [...written].map(([index, one]) =>
    framesOf(functionName(wasm, names, index) ?? `function ${index}`, one, offsetOf),
  );
  if (opener !== undefined) functions.push(openerFrames(opener, offsetOf));
  const start = (index: number) => offsetOf((written.get(index) as WrittenFunction).start);
  return {
    code,
    literals,
    functions,
    entries: new Map([...entries].map(([name, index]) => [name, start(index)])),
    relocations: assembled.relocations.map(({ symbol, offset, addend }) => {
      const isC = symbol.startsWith(C_FUNCTION);
      const kind = (isC ? "c" : symbol) as CodeRelocation["kind"];
      return { kind, name: isC ? symbol.slice(C_FUNCTION.length) : "", offset, addend };
    }),
    globals: wasm.globals.flatMap((_, i) => {
      const home = context.global(wasm.importedGlobalCount + i);
      return home?.kind === "variable" ? [{ at: home.place.displacement, bytes: home.initial }] : [];
    }),
    data: wasm.data.map((segment) => ({
      address: segmentAddress(wasm, segment) as number,
      bytes: wasm.bytes.slice(segment.start, segment.end),
    })),
  };
}

function framesOf(
  name: string,
  { start, end, rows }: WrittenFunction,
  offsetOf: AssembledCode["offsetOf"],
): CodeFunction {
  const all: FrameRow[] = rows.map(({ at, cfa }) => ({ offset: offsetOf(at), cfa }));
  const saved = rows.flatMap(({ at, cfa, pushed }) =>
    pushed === undefined ? [] : [{ register: pushed, offset: offsetOf(at), at: cfa }],
  );
  return { name, start: offsetOf(start), end: offsetOf(end), rows: all, saved };
}

function openerFrames(opener: WrittenFunction, offsetOf: AssembledCode["offsetOf"]): CodeFunction {
  const frames = framesOf("memory_open caller", opener, offsetOf);
  const [from, to] = [frames.rows[2].offset, frames.rows[3].offset];
  return { ...frames, framePointer: { from, to } };
}
