import { FormatError } from "../../../ground/bytes/errors.ts";
import type { ByteReader } from "../../../ground/bytes/reader.ts";
import {
  type ByteRange,
  type DataSegment,
  type ElementItems,
  type ElementSegment,
  FUNCREF,
  type SegmentMode,
  type WasmModule,
} from "../types.ts";
import { readConstantExpression } from "./expression.ts";
import { readReferenceType } from "./value-types.ts";

const NOT_ACTIVE = 1;
/** With `NOT_ACTIVE` the segment is declarative, without it a table index is written. */
const EXPLICIT = 2;
const EXPRESSIONS = 4;

export function decodeElementSection(reader: ByteReader, module: WasmModule): void {
  const count = reader.vectorCount("element section", 2);
  for (let i = 0; i < count; i++) module.elements.push(readElementSegment(reader));
}

function readElementSegment(reader: ByteReader): ElementSegment {
  const flagsStart = reader.position;
  const flags = reader.u32Leb();
  if (flags > 7)
    throw new FormatError("malformed", flagsStart, "element segment", `there is no kind ${flags}`);
  const active = (flags & NOT_ACTIVE) === 0;
  const table = active && (flags & EXPLICIT) !== 0 ? reader.u32Leb() : 0;
  const offset = active ? readConstantExpression(reader) : undefined;
  const mode: SegmentMode = active ? "active" : (flags & EXPLICIT) !== 0 ? "declarative" : "passive";
  let type = FUNCREF;
  if ((flags & (NOT_ACTIVE | EXPLICIT)) !== 0)
    if ((flags & EXPRESSIONS) !== 0) type = readReferenceType(reader);
    else if (reader.u8("element kind") !== 0)
      throw new FormatError("malformed", reader.position - 1, "element kind", "only functions (0) are known");
  const items = (flags & EXPRESSIONS) !== 0 ? readExpressions(reader) : readFunctionIndices(reader);
  return { mode, flags, table, offset, type, items };
}

function readFunctionIndices(reader: ByteReader): ElementItems {
  const count = reader.vectorCount("element segment");
  const indices: number[] = [];
  for (let i = 0; i < count; i++) indices.push(reader.u32Leb());
  return { kind: "functions", indices };
}

function readExpressions(reader: ByteReader): ElementItems {
  const count = reader.vectorCount("element segment");
  const expressions: ByteRange[] = [];
  for (let i = 0; i < count; i++) expressions.push(readConstantExpression(reader));
  return { kind: "expressions", expressions };
}

export function decodeDataSection(reader: ByteReader, module: WasmModule): void {
  const count = reader.vectorCount("data section", 2);
  for (let i = 0; i < count; i++) module.data.push(readDataSegment(reader));
}

function readDataSegment(reader: ByteReader): DataSegment {
  const flagsStart = reader.position;
  const flags = reader.u32Leb();
  if (flags > 2) throw new FormatError("malformed", flagsStart, "data segment", `there is no kind ${flags}`);
  const memory = flags === 2 ? reader.u32Leb() : 0;
  const offset = flags === 1 ? undefined : readConstantExpression(reader);
  const size = reader.u32Leb();
  const start = reader.skip(size, "data segment");
  return { mode: flags === 1 ? "passive" : "active", flags, memory, offset, start, end: start + size };
}
