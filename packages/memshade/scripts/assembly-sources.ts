// Checks that the generated files were built from the current sources. Without the check, a run from the sources would use older generated
// code.
import { createHash } from "node:crypto";
import { closeSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { layoutFiles } from "./build-layouts.ts";

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
const BUILD = "scripts/build-shadow-runtime.ts";
const LAYOUTS = "scripts/build-layouts.ts";
/** Table from which the opcode constants are generated. */
const OPCODES = "src/code/wasm/opcodes.ts";
/** Longer than the first line of a generated file. */
const HEAD_BYTES = 128;

/** Command that error messages recommend. */
export const BUILD_COMMAND = `node packages/memshade/${BUILD}`;

export function firstLine(digest: string): string {
  return `// Built by ${BUILD} from sources ${digest}.`;
}

/** Digest, 16 hexadecimal digits, of the sources of generated files in a package folder, and of the scripts that build them. */
export function assemblyDigest(folder: string = PACKAGE): string {
  const hash = createHash("sha256");
  const layouts = layoutFiles(join(folder, "src")).map((path) => join("src", path));
  for (const path of layouts)
    layouts.push(...importedBy(folder, path).filter((one) => !layouts.includes(one)));
  const sources = [BUILD, LAYOUTS, OPCODES, ...layouts, ...filesOf(folder).filter(isAssembly)];
  for (const path of sources.sort())
    hash.update(`${path.replaceAll(sep, "/")}\0`).update(readFileSync(join(folder, path)));
  return hash.digest("hex").slice(0, 16);
}

/** Generated files of a package folder that were built from other or unknown sources. */
export function staleFiles(folder: string = PACKAGE): string[] {
  const line = `${firstLine(assemblyDigest(folder))}\n`;
  return filesOf(folder).filter(
    (path) => path.endsWith(".generated.ts") && headOf(join(folder, path), line.length) !== line,
  );
}

function filesOf(folder: string): string[] {
  return readdirSync(join(folder, "src"), { recursive: true, encoding: "utf8" }).map((path) =>
    join("src", path),
  );
}

function isAssembly(path: string): boolean {
  return path.endsWith(".ts") && !path.endsWith(".generated.ts") && path.split(sep).includes("assembly");
}

function importedBy(folder: string, path: string): string[] {
  const imports = readFileSync(join(folder, path), "utf8").matchAll(/ from "(\.[^"]+)";/g);
  return [...imports].map(([, name]) => join(dirname(path), name));
}

function headOf(file: string, bytes: number): string {
  const descriptor = openSync(file, "r");
  try {
    const head = Buffer.alloc(HEAD_BYTES);
    return head.toString("latin1", 0, Math.min(bytes, readSync(descriptor, head)));
  } finally {
    closeSync(descriptor);
  }
}
