import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import wabtFactory from "wabt";
import { decodeModule, functionName, readNames, type WasmModule } from "../../../../src/code/wasm/index.ts";
import type { AllocatorPlan } from "../../../../src/record/allocator/find/index.ts";

const wabt = await wabtFactory();

/** Decodes a module written in the text format; `$names` go into its name section unless `names` is false. */
export function moduleFromText(text: string, { names = true }: { names?: boolean } = {}): WasmModule {
  const module = wabt.parseWat("test.wat", text, {
    bulk_memory: true,
    memory64: true,
    multi_value: true,
    mutable_globals: true,
    reference_types: true,
    tail_call: true,
    exceptions: true,
  });
  try {
    module.resolveNames();
    module.validate();
    return decodeModule(module.toBinary({ write_debug_names: names }).buffer);
  } finally {
    module.destroy();
  }
}

/** Returns the module as a release build without names and with shortened exports would look. */
export function withoutNames(module: WasmModule): WasmModule {
  return {
    ...module,
    customs: module.customs.filter(({ name }) => name !== "name"),
    exports: module.exports.map((entry, i) => ({ ...entry, name: `e${i}` })),
  };
}

export function withCustomSection(module: WasmModule, name: string, content: readonly number[]): WasmModule {
  const start = module.bytes.length;
  const bytes = new Uint8Array(start + content.length);
  bytes.set(module.bytes);
  bytes.set(content, start);
  const section = { id: 0, name, start, payloadStart: start, contentStart: start, payloadEnd: bytes.length };
  return { ...module, bytes, customs: [...module.customs, section] };
}

/** Index of the function with this whole name; fails the test if there is none. */
export function indexOf(module: WasmModule, name: string): number {
  for (const [index, other] of readNames(module).functions) if (other === name) return index;
  const entry = module.exports.find((exported) => exported.kind === "function" && exported.name === name);
  if (entry === undefined) throw new Error(`the test's module has no function ${name}`);
  return entry.index;
}

/** Hooked functions as text, one per line: role, name or index, operands, for example `realloc my_realloc pointer 0 size 1`. */
export function pictureOf(plan: AllocatorPlan): string[] {
  return plan.functions.map((entry) => {
    const words = [entry.role, entry.name ?? `#${entry.index}`];
    if (entry.pointerParam >= 0) words.push(`pointer ${entry.pointerParam}`);
    if (entry.countParam >= 0) words.push(`count ${entry.countParam}`);
    if (entry.sizeParam >= 0) words.push(`size ${entry.sizeParam}`);
    if (entry.outPointerParam >= 0) words.push(`stored at ${entry.outPointerParam}`);
    if (entry.pointerOffset !== 0) words.push(`offset ${entry.pointerOffset}`);
    if (entry.sizeOffset !== 0) words.push(`size offset ${entry.sizeOffset}`);
    return words.join(" ");
  });
}

export function namesOf(module: WasmModule, indices: readonly number[]): string[] {
  const names = readNames(module);
  return indices.map((index) => functionName(module, names, index) ?? `#${index}`).sort();
}

/** Path of a file below the repository's or the benchmarks' node_modules; undefined if it is not installed. */
export function installed(path: string): string | undefined {
  for (const folder of ["node_modules", "packages/memshade/node_modules", "bench/node_modules"]) {
    const file = fileURLToPath(new URL(`../../../../../../${folder}/${path}`, import.meta.url));
    if (existsSync(file)) return file;
  }
  return undefined;
}

export function decodeFile(file: string): WasmModule {
  return decodeModule(new Uint8Array(readFileSync(file)));
}

export const fixture = (name: string): WasmModule =>
  decodeFile(fileURLToPath(new URL(`fixtures/${name}`, import.meta.url)));
