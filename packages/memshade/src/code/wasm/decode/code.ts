import { FormatError } from "../../../ground/bytes/errors.ts";
import { ByteReader } from "../../../ground/bytes/reader.ts";
import * as Op from "../op.generated.ts";
import type { FunctionBody, LocalGroup, WasmModule } from "../types.ts";
import { readValType } from "./value-types.ts";

const MAXIMUM_LOCALS = 0xffffffff;

/** Finds the bodies and where their instructions begin; instructions are not looked at. */
export function decodeCodeSection(reader: ByteReader, module: WasmModule): void {
  module.codePayloadStart = reader.position;
  const count = reader.vectorCount("code section", 3);
  for (let i = 0; i < count; i++) module.bodies.push(readBody(reader));
}

function readBody(reader: ByteReader): FunctionBody {
  const sizeStart = reader.position;
  const size = reader.u32Leb();
  const start = reader.skip(size, "function body");
  const end = start + size;
  if (size < 2 || reader.bytes[end - 1] !== Op.END)
    throw new FormatError("malformed", sizeStart, "function body", "it does not finish with `end`");
  const locals = new ByteReader(reader.bytes, start, end);
  // Most functions have no locals beside their parameters.
  if (reader.bytes[start] === 0) locals.position = start + 1;
  else readLocalGroups(locals);
  if (locals.atEnd) throw new FormatError("malformed", start, "function body", "it has no instructions");
  return { sizeStart, start, codeStart: locals.position, end };
}

function readLocalGroups(reader: ByteReader): LocalGroup[] {
  const start = reader.position;
  const groupCount = reader.vectorCount("locals", 2);
  const groups: LocalGroup[] = [];
  let total = 0;
  for (let i = 0; i < groupCount; i++) {
    const count = reader.u32Leb();
    total += count;
    if (total > MAXIMUM_LOCALS) throw new FormatError("malformed", start, "locals", "there are too many");
    groups.push({ count, type: readValType(reader) });
  }
  return groups;
}

/** The locals that a body declares beside its parameters, in groups as written. */
export function decodeLocals(module: WasmModule, body: FunctionBody): LocalGroup[] {
  return readLocalGroups(new ByteReader(module.bytes, body.start, body.end));
}
