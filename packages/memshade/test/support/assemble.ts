import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import wabtFactory from "wabt";

export const wabt = await wabtFactory();

export const FEATURES = {
  exceptions: true,
  mutable_globals: true,
  sat_float_to_int: true,
  sign_extension: true,
  simd: true,
  relaxed_simd: true,
  threads: true,
  multi_value: true,
  tail_call: true,
  bulk_memory: true,
  reference_types: true,
  memory64: true,
  multi_memory: true,
  extended_const: true,
};

/** Bytes of a module in the text format, with a name section. Throws wabt's own message, with `file`, for invalid text. */
export function wat(text: string, file = "test.wat"): Uint8Array {
  const module = wabt.parseWat(file, text, FEATURES);
  try {
    return module.toBinary({ write_debug_names: true }).buffer.slice();
  } finally {
    module.destroy();
  }
}

const BINARIES = fileURLToPath(new URL("../../../../node_modules/.bin/", import.meta.url));

/** Path of one of binaryen's tools; undefined if binaryen is not installed. */
export function binaryenTool(name: "wasm-as" | "wasm-opt"): string | undefined {
  const path = join(BINARIES, name);
  return existsSync(path) ? path : undefined;
}

/** Bytes of a module in the text format, for proposals that only binaryen supports. */
export function watByBinaryen(text: string): Uint8Array {
  const folder = mkdtempSync(join(tmpdir(), "memshade-wat-"));
  try {
    const [source, target] = [join(folder, "module.wat"), join(folder, "module.wasm")];
    writeFileSync(source, text);
    execFileSync(process.execPath, [
      binaryenTool("wasm-as") ?? "wasm-as",
      "-all",
      "-g",
      source,
      "-o",
      target,
    ]);
    return new Uint8Array(readFileSync(target));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
