import { FormatError } from "../../../ground/bytes/errors.ts";
import type { ByteReader } from "../../../ground/bytes/reader.ts";
import { ImmediateKind } from "../immediates.ts";
import * as Op from "../op.generated.ts";
import { IMMEDIATE_KIND } from "../opcodes.ts";
import { opcodeIdAt, skipImmediates, skipOpcode } from "../skip.ts";
import type { ByteRange } from "../types.ts";

/** Steps over a constant expression; the range includes its `end`. */
export function readConstantExpression(reader: ByteReader): ByteRange {
  const { bytes, position: start } = reader;
  let position = start;
  while (position < reader.end) {
    const id = opcodeIdAt(bytes, position);
    const kind = IMMEDIATE_KIND[id];
    if (kind === ImmediateKind.BlockType || kind === ImmediateKind.TryTable)
      throw new FormatError("malformed", position, "constant expression", "it contains a block");
    position = skipImmediates(bytes, skipOpcode(bytes, position), kind);
    if (id === Op.END) {
      reader.skip(position - start, "constant expression");
      return { start, end: position };
    }
  }
  throw new FormatError("truncated", start, "constant expression", "it has no end");
}
