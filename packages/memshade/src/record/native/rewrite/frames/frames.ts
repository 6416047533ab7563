import type { ObjectFile } from "../../../../code/objects/types.ts";
import { cfiOfObject, DW_EH_PE } from "../../../../code/unwind/index.ts";
import { ByteWriter } from "../../../../ground/bytes/writer.ts";
import type { Code, CodeFunction } from "../code.ts";
import type { NewText } from "../emit.ts";
import type { ExceptionTable } from "../exceptions.ts";
import { pointerBytes, writePointer } from "../pointers.ts";
import type { NewStretch } from "./frame-rows.ts";
import { FrameWriter, pad } from "./frame-writer.ts";
import { routineFrames } from "./routine-frames.ts";
import { ShiftCursor } from "./stack-shifts.ts";

const WORD = 4;
/** Version; pointers relative to where they stand, counts, and a table relative to the header, of 32 bits. */
const HEADER = [1, 0x1b, 0x03, 0x3b];

/** Call frame information and tables of exceptions of the new text. */
export interface NewFrames {
  readonly bytes: Uint8Array;
  /** Bytes of the search table, which stands first, and where call frame information begins. */
  readonly searchBytes: number;
  readonly framesAt: number;
}

/**
 * Call frame information and tables of exceptions of the new text, with one search table for new functions, and old ones if the
 * object has such a table. Everything is at `address` (SVMA).
 */
export function writeFrames(
  code: Code,
  text: NewText,
  textAddress: number,
  object: ObjectFile,
  address: number,
): NewFrames {
  const { header } = cfiOfObject(object);
  const rows: { start: number; entry: number }[] = [];
  for (let row = 0; row < (header?.count ?? 0); row++)
    rows.push({
      start: header?.startAt(row) ?? 0,
      entry: (header?.fdeAt(row) ?? 0) + (header?.frameAddress ?? 0),
    });
  const cold = text.cold.ofFunctions(code);
  const routines = routineFrames(text);
  const added = code.functions.length + cold.size + routines.length;
  const headerBytes = HEADER.length + 2 * WORD + 2 * WORD * (rows.length + added);
  const out = new ByteWriter(headerBytes + 64 * added);
  out.bytes(new Uint8Array(headerBytes));
  const tables = code.functions.map((one, f) => {
    if (one.exceptions === undefined) return undefined;
    pad(out);
    const at = address + out.length;
    writeExceptionTable(out, one, one.exceptions, new FunctionStretch(code, text, f), address);
    return at;
  });
  pad(out);
  const framesAt = address + out.length;
  const frames = new FrameWriter(out, object, { address, textAddress });
  const functionShifts = new ShiftCursor(text.shifts.hot);
  code.functions.forEach(({ frame }, f) => {
    frames.function(frame, new FunctionStretch(code, text, f), functionShifts, tables[f]);
  });
  const coldShifts = new ShiftCursor(text.shifts.cold, text.cold.start);
  for (const [f, stretch] of cold) frames.function(code.functions[f].frame, stretch, coldShifts);
  frames.routines(routines);
  rows.push(...frames.rows);
  out.u32(0);
  const bytes = out.view();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  bytes.set(HEADER);
  view.setInt32(WORD, framesAt - (address + WORD), true);
  view.setUint32(2 * WORD, rows.length, true);
  rows.sort((a, b) => a.start - b.start);
  rows.forEach(({ start, entry }, row) => {
    view.setInt32(3 * WORD + 2 * WORD * row, start - address, true);
    view.setInt32(4 * WORD + 2 * WORD * row, entry - address, true);
  });
  return { bytes, searchBytes: headerBytes, framesAt: framesAt - address };
}

/** What a function's instructions became. */
class FunctionStretch implements NewStretch {
  readonly start: number;
  readonly end: number;
  readonly #code: Code;
  readonly #text: NewText;
  readonly #function: CodeFunction;

  constructor(code: Code, text: NewText, f: number) {
    this.#code = code;
    this.#text = text;
    this.#function = code.functions[f];
    this.start = text.starts[f];
    this.end = text.ends[f];
  }

  of(distance: number): number {
    const { start, end } = this.#function;
    for (let offset = start + distance; offset < end; offset++) {
      const instruction = this.#code.instructionAt(offset);
      if (instruction >= 0) return this.#text.offsets[instruction];
    }
    return this.end;
  }
}

function writeExceptionTable(
  out: ByteWriter,
  { start, end }: CodeFunction,
  { callSites, actions, typeEncoding, types, specifications }: ExceptionTable,
  stretch: FunctionStretch,
  address: number,
): void {
  const placeOf = (distance: number): number => stretch.of(distance) - stretch.start;
  const sites = new ByteWriter(16 * callSites.length);
  for (const site of callSites) {
    const from = placeOf(site.start);
    const to = site.end >= end - start ? stretch.end - stretch.start : placeOf(site.end);
    sites.u32Leb(from).u32Leb(to - from);
    sites.u32Leb(site.landingPad === 0 ? 0 : placeOf(site.landingPad)).u32Leb(site.action);
  }
  out.u8(DW_EH_PE.omit);
  const typeBytes = types.length * (pointerBytes(typeEncoding) ?? 0);
  const behind = sites.length + actions.length;
  if (typeBytes + specifications.length === 0) out.u8(DW_EH_PE.omit);
  else {
    out.u8(typeEncoding);
    // Wide enough to be known before it is written: the encoding of call sites and two lengths follow.
    const field = out.reserveU32Leb();
    const rest = 1 + 5 + behind;
    const filler = (WORD - ((out.length + rest + typeBytes) % WORD)) % WORD;
    out.patchU32Leb(field, rest + filler + typeBytes);
    writeSites(out, sites, actions);
    out.bytes(new Uint8Array(filler));
    for (const type of [...types].reverse()) writeType(out, typeEncoding, type, address);
    out.bytes(specifications);
    return;
  }
  writeSites(out, sites, actions);
}

function writeSites(out: ByteWriter, sites: ByteWriter, actions: Uint8Array): void {
  out.u8(DW_EH_PE.uleb128);
  const length = out.reserveU32Leb();
  out.patchU32Leb(length, sites.length);
  out.bytes(sites.view()).bytes(actions);
}

function writeType(out: ByteWriter, encoding: number, type: number, address: number): void {
  if (type === 0) out.bytes(new Uint8Array(pointerBytes(encoding) ?? 0));
  else writePointer(out, encoding, type, address);
}
