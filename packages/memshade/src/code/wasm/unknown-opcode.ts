import { FormatError } from "../../ground/bytes/errors.ts";
import { readU32Leb } from "../../ground/bytes/leb128.ts";

/** Proposals that have claimed opcode numbers which no released edition assigns. */
const CLAIMED: readonly (readonly [prefix: number, first: number, last: number, feature: string])[] = [
  [0, 0x16, 0x17, "multi-byte array access, or an early draft of function references"],
  [0, 0xe0, 0xef, "stack switching"],
  [0xfb, 0x1f, 0x7f, "custom descriptors, an extension of GC"],
  [0xfb, 0x80, 0xbf, "reference-typed strings (stringref)"],
  [0xfb, 0xc0, 0xffffffff, "a later extension of GC"],
  [0xfc, 0x12, 0x12, "memory control (memory.discard)"],
  [0xfc, 0x17, 0xffffffff, "a later extension of bulk memory or wide arithmetic"],
  [0xfd, 0x100, 0x12f, "a later extension of relaxed SIMD, or half-precision SIMD"],
  [0xfd, 0x130, 0xffffffff, "half-precision SIMD (fp16)"],
  [0xfd, 0, 0xff, "SIMD"],
  [0xfe, 0, 0xffffffff, "shared-everything threads"],
];

/** The error for an instruction at `offset` that the opcode table does not know. */
export function unknownOpcode(bytes: Uint8Array, offset: number): FormatError {
  const first = bytes[offset];
  const prefixed = first >= 0xfb && first <= 0xfe;
  const number = prefixed ? readU32Leb(bytes, offset + 1) : first;
  const shown = prefixed ? `0x${hex(first)} 0x${hex(number)}` : `0x${hex(first)}`;
  const claim = CLAIMED.find(
    ([prefix, low, high]) => prefix === (prefixed ? first : 0) && number >= low && number <= high,
  );
  const origin = claim === undefined ? "" : `; it probably belongs to ${claim[3]}`;
  return new FormatError(
    "unknown-opcode",
    offset,
    "instruction",
    `opcode ${shown} is not supported${origin}`,
  );
}

function hex(value: number): string {
  return value.toString(16).padStart(2, "0");
}
