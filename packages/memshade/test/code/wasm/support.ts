import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { decodeModule } from "../../../src/code/wasm/index.ts";
import { FEATURES, wabt } from "../../support/assemble.ts";
import { iterateOperators, type Operator } from "./reference/operators.ts";
import { printOperator } from "./reference/print-operator.ts";

/** Assembles text with wabt, which preserves structure and indices. */
export function assemble(text: string, options: { names?: boolean; relocatable?: boolean } = {}): Uint8Array {
  const module = wabt.parseWat("test.wat", new TextEncoder().encode(text), {
    ...FEATURES,
    function_references: true,
  });
  try {
    module.resolveNames();
    return module.toBinary({
      write_debug_names: options.names === true,
      canonicalize_lebs: options.relocatable !== true,
      relocatable: options.relocatable === true,
    }).buffer;
  } finally {
    module.destroy();
  }
}

/** Instructions of the first defined function, without its final `end`. */
export function firstBody(bytes: Uint8Array): Operator[] {
  const module = decodeModule(bytes);
  return [...iterateOperators(module, module.bodies[0])].slice(0, -1);
}

export function printedBody(bytes: Uint8Array): string[] {
  return firstBody(bytes).map((operator) => printOperator(operator));
}

/** A section of every kind, in each of its shapes. */
export const KITCHEN_SINK = `(module
  (type $unary (func (param i32) (result i32)))
  (import "env" "log" (func $log (param i32)))
  (import "env" "memory" (memory $imported 1 4 shared))
  (import "env" "table" (table 1 10 externref))
  (import "env" "base" (global $base i32))
  (import "env" "tag" (tag (param i32)))
  (table $t0 4 funcref)
  (memory $big i64 1 70000)
  (tag $oops (param i32 i64))
  (global $counter (mut i64) (i64.const -9000000000))
  (global (mut f32) (f32.const 0.5))
  (global v128 (v128.const i32x4 1 2 3 4))
  (global i32 (i32.add (global.get $base) (i32.const 16)))
  (export "double" (func $double))
  (export "memory" (memory $big))
  (export "oops" (tag $oops))
  (export "größe" (global $counter))
  (start $main)
  (elem (table $t0) (i32.const 0) func $double $main)
  (elem $passive func $double)
  (elem declare func $main)
  (elem (table $t0) (i32.const 1) funcref (ref.func $double) (ref.null func))
  (elem externref (ref.null extern))
  (data (memory $imported) (i32.const 8) "hello")
  (data (memory $imported) (i32.const 64) "\\00\\01\\02")
  (data $later "passive")
  (func $main (local $i i32) (local $j i32) (local $x f64) (local $v v128)
    (local.set $i (i32.const 100000))
    (block $out
      (loop $again
        (br_if $out (i32.eqz (local.get $i)))
        (br_table $out $again $again (i32.load offset=4 (local.get $i)))))
    (try (do (throw $oops (i32.const 1) (i64.const 2))) (catch $oops drop drop) (catch_all))
    (memory.init $big $later (i64.const 0) (i32.const 0) (i32.const 7))
    (memory.copy $big $big (i64.const 0) (i64.const 8) (i64.const 8))
    (i64.store32 $big offset=0x100000000 (i64.const 0) (i64.const -1))
    (drop (call_indirect (type $unary) (i32.const 1) (i32.const 0)))
    (drop (i32.atomic.rmw.add (i32.const 0) (i32.const 1)))
    (local.set $v (i8x16.shuffle 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 (local.get $v) (local.get $v)))
    (drop (select (result f64) (f64.const nan) (local.get $x) (i32.const 1)))
    (call $log (i32.const -1)))
  (func $double (type $unary)
    (return_call $again (local.get 0)))
  (func $again (type $unary)
    (i32.mul (local.get 0) (i32.const 2))))`;

const MODULE_PACKAGES = [
  "sql.js",
  "web-tree-sitter",
  "@sqlite.org/sqlite-wasm",
  "@resvg/resvg-wasm",
  "tiktoken",
  "@jitl",
  "@bokuweb/zstd-wasm",
];

const nodeModules = fileURLToPath(new URL("../../../../../node_modules/", import.meta.url));

/** A compiled program that is installed for development: path below node_modules, and content. */
export interface InstalledModule {
  name: string;
  read: () => Uint8Array;
}

export function installedModules(): InstalledModule[] {
  const byHash = new Map<string, InstalledModule>();
  for (const module of installedFiles()) {
    const hash = createHash("sha1").update(module.read()).digest("hex");
    if (!byHash.has(hash)) byHash.set(hash, module);
  }
  return [...byHash.values()];
}

function installedFiles(): InstalledModule[] {
  return MODULE_PACKAGES.flatMap((name) =>
    readdirSync(join(nodeModules, name), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".wasm"))
      .sort()
      .map((path) => ({
        name: `${name}/${path}`,
        read: () => new Uint8Array(readFileSync(join(nodeModules, name, path))),
      })),
  );
}
