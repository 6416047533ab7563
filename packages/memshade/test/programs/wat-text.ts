import { readFileSync, writeFileSync } from "node:fs";
import wabtFactory from "wabt";

/** Every proposal that wabt can read. */
const FEATURES = {
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

/** Compiles a module in the text format, with a name section. Throws wabt's own message for wrong text. */
export async function assembleText(name: string, text: string): Promise<Uint8Array> {
  const wabt = await wabtFactory();
  const module = wabt.parseWat(name, text, FEATURES);
  try {
    return module.toBinary({ write_debug_names: true }).buffer;
  } finally {
    module.destroy();
  }
}

if (import.meta.main) {
  const [source, target] = process.argv.slice(2) as [string, string];
  writeFileSync(target, await assembleText(source, readFileSync(source, "utf8")));
}
