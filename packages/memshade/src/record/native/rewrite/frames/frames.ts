import type { ObjectFile } from "../../../../code/objects/types.ts";
import { cfiOfObject, DW_CFA, DW_EH_PE, type FrameEntry } from "../../../../code/unwind/index.ts";
import { viewOf } from "../../../../ground/bytes/numbers.ts";
import { ByteWriter } from "../../../../ground/bytes/writer.ts";
import { type Code, type CodeFunction, type ExceptionTable, pointerBytes, writePointer } from "../code.ts";
import type { NewText } from "../emit.ts";
import { walkStack } from "../insertion/stack-walk.ts";
import { type NewStretch, RowWriter, ShiftCursor, writeAdvance } from "./frame-rows.ts";

/** Version, and encodings: 32-bit pcrel pointer, count, and a 32-bit table relative to the header. */
const HEADER = [1, 0x1b, 0x03, 0x3b];

export interface NewFrames {
  readonly bytes: Uint8Array;
  /** Bytes of the search table, which comes first, and offset of the call frame information. */
  readonly searchBytes: number;
  readonly framesAt: number;
}

/**
 * Writes call frame information and exception tables of the new text, at `address` (SVMA). Its search table
 * has the new functions, and also the old ones if the object has such a table.
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
  const tables = code.functions.map((codeFunction, f) => {
    if (codeFunction.exceptions === undefined) return undefined;
    pad(out);
    const at = address + out.length;
    writeExceptionTable(
      out,
      codeFunction,
      codeFunction.exceptions,
      new FunctionStretch(code, text, f),
      address,
    );
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
  const view = viewOf(bytes);
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

  offsetOf(distance: number): number {
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
  const placeOf = (distance: number): number => stretch.offsetOf(distance) - stretch.start;
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
    // Distance to the table of types, with a fixed width because it must be known first. After it come the
    // encoding of call sites and two lengths.
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

/** DWARF numbers of rsp and of the return address. */
const [RSP, RETURN_ADDRESS] = [7, 16];
/** Bytes of the return address above a routine's stack pointer at its start. */
const RETURN_BYTES = 8;

/**
 * Fields of the routines' CIE: version, augmentation, alignment factors 1 and -8, and the CFA after a call.
 */
const content = [
  0,
  0,
  0,
  0,
  1,
  0x7a,
  0x52,
  0,
  1,
  0x78,
  RETURN_ADDRESS,
  1,
  DW_EH_PE.pcrel | DW_EH_PE.sdata4,
  DW_CFA.def_cfa,
  RSP,
  RETURN_BYTES,
  DW_CFA.offset | RETURN_ADDRESS,
  1,
  0,
  0,
];
const ROUTINE_CIE: Uint8Array = Uint8Array.from([content.length, 0, 0, 0, ...content]);

/** Call frame information of a routine that insertions call; offsets in the new text. */
interface RoutineFrame {
  start: number;
  end: number;
  instructions: Uint8Array;
}

/** Returns the frames of routines in the tool's common code. Each ends with its first `ret`. */
function routineFrames({ common, commonAt, shifts }: NewText): RoutineFrame[] {
  return [...shifts.routines].map((routine) => {
    const out = new ByteWriter();
    let at = routine;
    let shown = 0;
    walkStack(common, [routine, common.length], (place, shift) => {
      if (shift !== shown) {
        writeAdvance(out, place - at);
        out.u8(DW_CFA.def_cfa_offset).u32Leb(RETURN_BYTES + shift);
        shown = shift;
      }
      at = place;
    });
    return { start: commonAt + routine, end: commonAt + at, instructions: out.view() };
  });
}

const WORD = 4;
/** Bits of an encoding for the base of a pointer. */
const APPLICATION = 0x70;

/** A written CIE: its address, and its initial instructions. */
interface WrittenCie {
  at: number;
  initial: Uint8Array;
}

class FrameWriter {
  /** Start of code, and address of its entry. */
  readonly rows: { start: number; entry: number }[] = [];
  readonly #out: ByteWriter;
  readonly #object: ObjectFile;
  readonly #address: number;
  readonly #textAddress: number;
  readonly #cies = new Map<number, WrittenCie>();

  /**
   * @param address of the first byte of `out`
   * @param textAddress address of the new text
   */
  constructor(
    out: ByteWriter,
    object: ObjectFile,
    { address, textAddress }: { address: number; textAddress: number },
  ) {
    this.#out = out;
    this.#object = object;
    this.#address = address;
    this.#textAddress = textAddress;
  }

  /**
   * Writes the entry of a range of a function's new code.
   * @param table address of its exception table
   */
  function(
    { cie, cieAddress, instructions }: FrameEntry,
    stretch: NewStretch,
    shifts: ShiftCursor,
    table?: number,
  ): void {
    const { at, initial } = this.#cie(cie, cieAddress);
    this.#entry(cie, at, stretch, table, () =>
      new RowWriter(this.#out, cie, initial, stretch, shifts).write(instructions),
    );
  }

  routines(routines: readonly RoutineFrame[]): void {
    if (routines.length === 0) return;
    const cieAt = this.#address + this.#out.length;
    this.#out.bytes(ROUTINE_CIE);
    const cie = {
      pointerEncoding: DW_EH_PE.pcrel | DW_EH_PE.sdata4,
      hasAugmentationData: true,
      lsdaEncoding: DW_EH_PE.omit,
    };
    for (const routine of routines)
      this.#entry(cie, cieAt, routine, undefined, () => this.#out.bytes(routine.instructions));
  }

  #entry(
    cie: Pick<FrameEntry["cie"], "pointerEncoding" | "hasAugmentationData" | "lsdaEncoding">,
    cieAt: number,
    { start, end }: { start: number; end: number },
    table: number | undefined,
    writeInstructions: () => void,
  ): void {
    const [out, address] = [this.#out, this.#address];
    const at = out.length;
    this.rows.push({ start: this.#textAddress + start, entry: address + at });
    out.u32(0).u32(address + at + WORD - cieAt);
    writePointer(out, cie.pointerEncoding, this.#textAddress + start, address);
    writePointer(out, cie.pointerEncoding & 0x0f, end - start, address);
    if (cie.hasAugmentationData) {
      const tablePointer = pointerBytes(cie.lsdaEncoding) ?? 0;
      out.u32Leb(tablePointer);
      if (table !== undefined) writePointer(out, cie.lsdaEncoding, table, address);
      else out.bytes(new Uint8Array(tablePointer));
    }
    writeInstructions();
    pad(out);
    out.patchU32(at, out.length - at - WORD);
  }

  #cie(cie: FrameEntry["cie"], cieAddress: number): WrittenCie {
    let written = this.#cies.get(cieAddress);
    if (written === undefined) {
      const section = cfiOfObject(this.#object).sections.find(({ kind }) => kind === "eh_frame");
      const initial = section?.bytes.subarray(cie.programStart, cie.programEnd) ?? new Uint8Array();
      written = { at: writeCie(this.#out, this.#object, cie, cieAddress, this.#address), initial };
      this.#cies.set(cieAddress, written);
    }
    return written;
  }
}

/**
 * Copies a CIE, for readers that read only the new information.
 * @returns its address; the old CIE's if the dynamic linker fills in a pointer of it
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

function pad(out: ByteWriter): void {
  while (out.length % WORD !== 0) out.u8(0);
}
