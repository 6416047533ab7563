import { ByteWriter } from "../../bytes/writer.ts";
import type { ObjectFile } from "../../objects/types.ts";
import { CfiCursor, cfiOfObject, DW_CFA, DW_EH_PE, type FrameEntry } from "../../unwind/index.ts";
import type { Code, CodeFunction } from "./code.ts";
import type { NewText } from "./emit.ts";
import type { ExceptionTable } from "./exceptions.ts";
import { pointerBytes, writePointer } from "./pointers.ts";

const WORD = 4;
/** The bits of an encoding that say what a pointer is relative to. */
const APPLICATION = 0x70;
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
  const header = cfiOfObject(object).header;
  const rows: { start: number; entry: number }[] = [];
  for (let row = 0; row < (header?.count ?? 0); row++)
    rows.push({
      start: header?.startAt(row) ?? 0,
      entry: (header?.fdeAt(row) ?? 0) + (header?.frameAddress ?? 0),
    });
  const headerBytes = HEADER.length + 2 * WORD + 2 * WORD * (rows.length + code.functions.length);
  const out = new ByteWriter(headerBytes + 64 * code.functions.length);
  out.bytes(new Uint8Array(headerBytes));
  const tables = code.functions.map((one, f) => {
    if (one.exceptions === undefined) return undefined;
    pad(out);
    const at = address + out.length;
    writeExceptionTable(out, one, one.exceptions, new Places(code, text, f), address);
    return at;
  });
  pad(out);
  const framesAt = address + out.length;
  const cies = new Map<number, number>();
  code.functions.forEach((one, f) => {
    const { cie, cieAddress } = one.frame;
    const cieAt = cies.get(cieAddress) ?? writeCie(out, object, cie, cieAddress, address);
    cies.set(cieAddress, cieAt);
    rows.push({ start: textAddress + text.starts[f], entry: address + out.length });
    writeEntry(out, one, new Places(code, text, f), { address, textAddress, table: tables[f], cieAt });
  });
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

/** Where offsets of a function's old code lie in the new one, counted from its new start. */
class Places {
  readonly start: number;
  readonly size: number;
  readonly #code: Code;
  readonly #text: NewText;
  readonly #function: CodeFunction;

  constructor(code: Code, text: NewText, f: number) {
    this.#code = code;
    this.#text = text;
    this.#function = code.functions[f];
    this.start = text.starts[f];
    this.size = text.ends[f] - this.start;
  }

  /** Of the first instruction at or behind an offset from the old start. */
  of(distance: number): number {
    const { start, end } = this.#function;
    for (let offset = start + distance; offset < end; offset++) {
      const instruction = this.#code.instructionAt(offset);
      if (instruction >= 0) return this.#text.offsets[instruction] - this.start;
    }
    return this.size;
  }
}

/**
 * Copies a CIE, so that whoever reads the new information alone finds it.
 *
 * @returns its address; that of the old one where the dynamic linker fills in a pointer of it
 */
function writeCie(
  out: ByteWriter,
  object: ObjectFile,
  { personality }: FrameEntry["cie"],
  cieAddress: number,
  address: number,
): number {
  const isRelative = ((personality?.encoding ?? 0) & APPLICATION) === DW_EH_PE.pcrel;
  if (personality !== undefined && !isRelative && object.type !== "executable") return cieAddress;
  const head = object.bytesAt(cieAddress, WORD);
  const length = new DataView(head.buffer, head.byteOffset, WORD).getUint32(0, true);
  const bytes = new Uint8Array(Math.ceil((WORD + length) / WORD) * WORD);
  bytes.set(object.bytesAt(cieAddress, WORD + length));
  const view = new DataView(bytes.buffer);
  view.setUint32(0, bytes.length - WORD, true);
  const at = address + out.length;
  if (personality !== undefined && isRelative) {
    const field = 2 * WORD + personality.offset;
    if (pointerBytes(personality.encoding) === 8)
      view.setBigInt64(field, view.getBigInt64(field, true) + BigInt(cieAddress - at), true);
    else view.setInt32(field, view.getInt32(field, true) + cieAddress - at, true);
  }
  out.bytes(bytes);
  return at;
}

function writeEntry(
  out: ByteWriter,
  { frame }: CodeFunction,
  places: Places,
  {
    address,
    textAddress,
    table,
    cieAt,
  }: { address: number; textAddress: number; table: number | undefined; cieAt: number },
): void {
  const at = out.length;
  const { cie } = frame;
  out.u32(0).u32(address + at + WORD - cieAt);
  writePointer(out, cie.pointerEncoding, textAddress + places.start, address);
  writePointer(out, cie.pointerEncoding & 0x0f, places.size, address);
  if (cie.hasAugmentationData) {
    const tablePointer = pointerBytes(cie.lsdaEncoding) ?? 0;
    out.u32Leb(tablePointer);
    if (table !== undefined) writePointer(out, cie.lsdaEncoding, table, address);
    else out.bytes(new Uint8Array(tablePointer));
  }
  writeInstructions(out, frame.instructions, cie.codeAlignment, places);
  pad(out);
  out.patchU32(at, out.length - at - WORD);
}

/** The same instructions, with other distances between them. */
function writeInstructions(out: ByteWriter, instructions: Uint8Array, unit: number, places: Places): void {
  const cursor = new CfiCursor({ kind: "eh_frame", bytes: instructions, address: 0, addressSize: 8 });
  cursor.end = instructions.length;
  let old = 0;
  let written = 0;
  const advance = (distance: number): void => {
    old += distance * unit;
    const to = places.of(old);
    writeAdvance(out, to - written);
    written = to;
  };
  while (cursor.position < cursor.end) {
    const from = cursor.position;
    const opcode = cursor.unsigned(1);
    const low = opcode & 0x3f;
    switch (opcode & 0xc0 || opcode) {
      case DW_CFA.advance_loc:
        advance(low);
        continue;
      case DW_CFA.advance_loc1:
        advance(cursor.unsigned(1));
        continue;
      case DW_CFA.advance_loc2:
        advance(cursor.unsigned(2));
        continue;
      case DW_CFA.advance_loc4:
        advance(cursor.unsigned(4));
        continue;
      default:
        skipOperands(cursor, opcode);
        if (cursor.position > cursor.end) return;
        out.range(instructions, from, cursor.position);
    }
  }
}

function writeAdvance(out: ByteWriter, distance: number): void {
  if (distance === 0) return;
  if (distance < 0x40) out.u8(DW_CFA.advance_loc | distance);
  else if (distance < 0x100) out.u8(DW_CFA.advance_loc1).u8(distance);
  else out.u8(DW_CFA.advance_loc4).u32(distance);
}

function skipOperands(cursor: CfiCursor, opcode: number): void {
  switch (opcode & 0xc0 || opcode) {
    case DW_CFA.offset:
    case DW_CFA.offset_extended_sf:
    case DW_CFA.restore_extended:
    case DW_CFA.undefined:
    case DW_CFA.same_value:
    case DW_CFA.def_cfa_register:
    case DW_CFA.def_cfa_offset:
    case DW_CFA.def_cfa_offset_sf:
    case DW_CFA.GNU_args_size:
      cursor.uleb();
      if (opcode === DW_CFA.offset_extended_sf) cursor.uleb();
      return;
    case DW_CFA.offset_extended:
    case DW_CFA.register:
    case DW_CFA.def_cfa:
    case DW_CFA.def_cfa_sf:
    case DW_CFA.val_offset:
    case DW_CFA.val_offset_sf:
    case DW_CFA.GNU_negative_offset_extended:
      cursor.uleb();
      cursor.uleb();
      return;
    case DW_CFA.def_cfa_expression:
      cursor.skip(cursor.uleb());
      return;
    case DW_CFA.expression:
    case DW_CFA.val_expression:
      cursor.uleb();
      cursor.skip(cursor.uleb());
  }
}

function writeExceptionTable(
  out: ByteWriter,
  { start, end }: CodeFunction,
  { callSites, actions, typeEncoding, types, specifications }: ExceptionTable,
  places: Places,
  address: number,
): void {
  const sites = new ByteWriter(16 * callSites.length);
  for (const site of callSites) {
    const from = places.of(site.start);
    const to = site.end >= end - start ? places.size : places.of(site.end);
    sites.u32Leb(from).u32Leb(to - from);
    sites.u32Leb(site.landingPad === 0 ? 0 : places.of(site.landingPad)).u32Leb(site.action);
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

function pad(out: ByteWriter): void {
  while (out.length % WORD !== 0) out.u8(0);
}
