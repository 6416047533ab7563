import { FormatError } from "../../../ground/bytes/errors.ts";

/** Magic and version. */
export const HEADER_BYTES = 8;

const MAGIC: readonly number[] = [0x00, 0x61, 0x73, 0x6d];
const CORE_LAYER = 0;
const COMPONENT_LAYER = 1;

/** Throws `FormatError` unless `bytes` begin like a core module of version 1. */
export function checkHeader(bytes: Uint8Array): void {
  if (bytes.length === 0) throw new FormatError("truncated", 0, "WebAssembly module", "the input is empty");
  const known = Math.min(bytes.length, MAGIC.length);
  for (let i = 0; i < known; i++)
    if (bytes[i] !== MAGIC[i]) throw new FormatError("bad-magic", 0, "WebAssembly module", notAModule(bytes));
  if (bytes.length < HEADER_BYTES)
    throw new FormatError("truncated", 0, "WebAssembly module", "the input ends inside the header");
  const version = bytes[4] | (bytes[5] << 8);
  const layer = bytes[6] | (bytes[7] << 8);
  if (layer === COMPONENT_LAYER) {
    const detail = "this is a component; components are not supported, the core modules inside them are";
    throw new FormatError("unsupported", 4, "WebAssembly module", detail);
  }
  if (version !== 1 || layer !== CORE_LAYER) {
    const number = (version | (layer << 16)) >>> 0;
    const detail = `version ${number} is not supported, only version 1 is`;
    throw new FormatError("unsupported-version", 4, "WebAssembly module", detail);
  }
}

function notAModule(bytes: Uint8Array): string {
  const beginning = String.fromCharCode(...bytes.subarray(0, 256)).trimStart();
  if (beginning.startsWith("(module") || beginning.startsWith(";;") || beginning.startsWith("(component"))
    return "this looks like the text format; assemble it first";
  return "the input does not begin with the bytes of a WebAssembly module";
}
