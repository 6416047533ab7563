import { FormatError } from "../../ground/bytes/errors.ts";
import { segmentAddress } from "../wasm/constant-values.ts";
import { decodeModule } from "../wasm/decode/module.ts";
import { memoryCount, memoryType } from "../wasm/lookups.ts";
import type { WasmModule } from "../wasm/types.ts";
import { Assembler, GENERAL, type Label, place, R15, RBP, RSP, relative } from "../x64/index.ts";
import { assignRegisters } from "./allocate/assign.ts";
import { ARGUMENTS } from "./convention.ts";
import { emitFunction, MEMORY_SLOT, type StackRow, type WrittenFunction } from "./emit/function.ts";
import { lowerFunction } from "./lower/rules.ts";
import { type CompileOptions, ModuleContext } from "./module-context.ts";
import { type NativeCode, nativeCode } from "./native-code.ts";

const SAVED_BYTES = 8 * ARGUMENTS.length + 16;

/**
 * Code that an exported function calls when linear memory is not mapped yet: it keeps the function's arguments, calls the one that maps it,
 * and leaves the address in r15.
 */
export function emitOpener(asm: Assembler, start: Label, opening: Label): WrittenFunction {
  asm.bind(start);
  const rows: StackRow[] = [{ at: asm.here(), cfa: 8 }];
  asm.put("push", 8, RBP);
  rows.push({ at: asm.here(), cfa: 16, pushed: RBP.number });
  asm.put("mov", 8, RBP, RSP);
  rows.push({ at: asm.here(), cfa: 16 });
  asm.put("sub", 8, RSP, SAVED_BYTES);
  // The function that calls this may have no frame that is aligned.
  asm.put("and", 8, RSP, -16);
  ARGUMENTS.forEach((register, i) => {
    asm.put("mov", 8, place(RSP, 8 * i), GENERAL[register]);
  });
  asm.call(opening);
  ARGUMENTS.forEach((register, i) => {
    asm.put("mov", 8, GENERAL[register], place(RSP, 8 * i));
  });
  asm.put("mov", 8, R15, relative(MEMORY_SLOT));
  asm.put("mov", 8, RSP, RBP);
  asm.put("pop", 8, RBP);
  rows.push({ at: asm.here(), cfa: 8 });
  asm.put("ret", 8);
  return { start, end: asm.here(), rows };
}

/** The exported function that maps linear memory: it runs without one, and leaves the address in the image's word for it. */
export const OPENER = "memory_open";

/**
 * Makes machine code of a module's exported functions and of all that they call. Throws `UnsupportedCode` for what is outside of
 * the subset, with the function, the offset in the module and the instruction, and `FormatError` for what is no valid module.
 * The same module and options give the same bytes.
 */
export function compile(bytes: Uint8Array, options: CompileOptions = {}): NativeCode {
  const wasm = decodeModule(bytes);
  if (!WebAssembly.validate(bytes as BufferSource))
    throw new FormatError("malformed", 0, "WebAssembly module", "it is not valid");
  refuse(wasm);
  const entries = exportedFunctions(wasm, options.exports);
  const context = new ModuleContext(wasm, options, new Set(entries.values()));
  const opening = entries.get(OPENER);
  const bare = new Set([OPENER, ...(options.withoutMemory ?? [])].map((name) => entries.get(name)));

  const asm = new Assembler();
  const labels = new Map<number, Label>();
  const functions = (index: number) => {
    const label = labels.get(index) ?? asm.label();
    labels.set(index, label);
    return label;
  };
  const opener = opening === undefined ? undefined : asm.label();
  const written = new Map<number, WrittenFunction>();
  for (const index of context.wanted) {
    if (index < wasm.importedFunctionCount)
      throw new FormatError("unsupported", 0, "export", "it is an imported function");
    const code = lowerFunction(context, index);
    const assignment = assignRegisters(code, options.registers);
    const entry = { loadsBase: code.exported && !bare.has(index), opener };
    written.set(index, emitFunction(asm, code, assignment, entry, functions));
  }
  const opened = opener === undefined ? undefined : emitOpener(asm, opener, functions(opening as number));
  return nativeCode(asm.finish(), { context, entries, written, opener: opened });
}

function refuse(wasm: WasmModule): void {
  const fail = (what: string) => {
    throw new FormatError("unsupported", 0, what, "machine code is made of modules without it");
  };
  if (wasm.start !== undefined) fail("start function");
  if (memoryCount(wasm) > 1) fail("second memory");
  if (memoryCount(wasm) > 0 && memoryType(wasm, 0).index64) fail("64-bit memory");
  for (const segment of wasm.data)
    if (segmentAddress(wasm, segment) === undefined) fail("passive or placed segment");
}

function exportedFunctions(wasm: WasmModule, wanted: readonly string[] | undefined): Map<string, number> {
  const missing = wanted?.find(
    (one) => !wasm.exports.some(({ kind, name }) => kind === "function" && name === one),
  );
  if (missing !== undefined)
    throw new FormatError("malformed", 0, "export", `no function is exported as ${missing}`);
  const functions = wasm.exports.filter(
    ({ kind, name }) => kind === "function" && (wanted?.includes(name) ?? true),
  );
  return new Map(functions.map(({ name, index }) => [name, index]));
}
