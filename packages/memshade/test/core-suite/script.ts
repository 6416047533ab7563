import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { sharedPath } from "../shared-path.ts";

/** One script of the official WebAssembly test suite, assembled; the README next to the file describes all fields. */
export interface Script {
  file: string;
  modules: readonly SuiteModule[];
  /** Bits of numbers: unsigned decimal; of vectors: two halves of 64 bits, low first. */
  literals: readonly (string | readonly [string, string])[];
  commands: readonly Command[];
}

/** A module in base64: plain, and with a memory and functions `malloc` and `free` that nothing calls. */
export interface SuiteModule {
  bytes: string;
  withAllocator?: string;
  /** The same with an allocator whose sizes and addresses are i64, for a module with a 64-bit memory. */
  withAllocator64?: string;
}

export type Command = { line: number } & (
  | Definition
  | { type: "instance"; of: string; name?: string }
  | { type: "register"; as: string; name?: string }
  | { type: "action" | "assert_trap" | "assert_exhaustion" | "assert_exception"; action: Action }
  | { type: "assert_return"; action: Action; expected: readonly Value[] }
  | {
      type: "assert_trap" | "assert_unlinkable" | "assert_uninstantiable";
      of: Definition;
      action?: undefined;
    }
  /** Malformed or invalid modules, which never run. */
  | { type: "static" | "unknown" }
);

export interface Definition {
  type: "module" | "definition";
  module: number;
  name?: string;
}

export interface Action {
  kind: "invoke" | "get";
  field: string;
  /** Name of an instance; the newest if absent. */
  module?: string;
  args?: readonly Value[];
}

export type Value =
  | { type: "i32" | "i64"; value: string }
  | { type: "f32" | "f64"; literal?: number; nan?: string }
  | {
      type: "v128";
      shape: "i8x16" | "i16x8" | "i32x4" | "i64x2" | "f32x4" | "f64x2";
      literal: number;
      nans?: readonly (string | null)[];
    }
  | { type: "ref"; ref: string; id?: string }
  | { type: "either"; of: readonly Value[] };

/** Folder of the assembled suite; undefined, with a warning, if it is missing. */
export const SUITE = sharedPath("fixtures/core-suite");

export function readScripts(folder: string): Script[] {
  const text = gunzipSync(readFileSync(join(folder, "suite.jsonl.gz"))).toString();
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Script);
}
