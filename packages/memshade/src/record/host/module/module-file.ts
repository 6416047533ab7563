import { decodeModule, memoryCount, memoryType } from "../../../code/wasm/index.ts";
import { FormatError, UserError } from "../../../ground/bytes/errors.ts";
import { describeSystemError } from "../../../ground/bytes/system-errors.ts";
import { readInput } from "../../../names/load/file.ts";

const MAGIC = [0x00, 0x61, 0x73, 0x6d];
const CORE_VERSION = [0x01, 0x00, 0x00, 0x00];
/** Version 13, layer 1: the preamble of a component. */
const COMPONENT_VERSION = [0x0d, 0x00, 0x01, 0x00];

/**
 * Reads a core WebAssembly module.
 * @throws UserError when the file cannot be read or its first bytes are not those of a core module.
 */
export function readModuleFile(path: string): Uint8Array {
  let bytes: Uint8Array;
  try {
    bytes = readInput(path);
  } catch (error) {
    const reason =
      (error as NodeJS.ErrnoException).code === "ENOENT" ? "no such file" : describeSystemError(error);
    throw new UserError(`${path}: ${reason}`);
  }
  const problem = describePreambleProblem(bytes);
  if (problem !== undefined) throw new UserError(`${path}: ${problem}`);
  return bytes;
}

/** Explains why the first 8 bytes are not those of a core WebAssembly module; undefined if they are. */
export function describePreambleProblem(bytes: Uint8Array): string | undefined {
  const startsWith = (expected: readonly number[], at = 0) =>
    expected.every((byte, i) => bytes[at + i] === byte);
  if (bytes.length === 0) return "the file is empty";
  if (!startsWith(MAGIC.slice(0, Math.min(4, bytes.length)))) {
    const text = new TextDecoder("latin1").decode(bytes.subarray(0, 256));
    if (/^\s*(;;.*\n\s*|\(;[\s\S]*?;\)\s*)*\((module|component)\b/.test(text))
      return "this is the text form of WebAssembly; translate it with wat2wasm first";
    return "not a WebAssembly module";
  }
  if (bytes.length < 8) return `truncated: ${bytes.length} bytes, a module has at least 8`;
  if (startsWith(COMPONENT_VERSION, 4))
    return "this is a component (component model), not a core module; profile the core modules inside it";
  if (!startsWith(CORE_VERSION, 4)) {
    const version = new DataView(bytes.buffer, bytes.byteOffset).getUint32(4, true);
    return `WebAssembly version ${version} is not supported (supported: 1)`;
  }
  return undefined;
}

/** Converts a typed error about a module's bytes into one line that names the file. Other errors pass. */
export function nameFileInErrors<T>(path: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (error instanceof FormatError) throw new UserError(`${path}: ${error.message}`);
    throw error;
  }
}

/** Returns the declared initial size of a module's memory in bytes; 0 if it has none. */
export function initialMemory(bytes: Uint8Array): number {
  const module = decodeModule(bytes);
  if (memoryCount(module) === 0) return 0;
  const { minimum, pageSizeLog2 } = memoryType(module, 0);
  return minimum * 2 ** pageSizeLog2;
}
