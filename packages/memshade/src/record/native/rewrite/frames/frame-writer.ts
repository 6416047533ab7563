import type { ObjectFile } from "../../../../code/objects/types.ts";
import { cfiOfObject, DW_EH_PE, type FrameEntry } from "../../../../code/unwind/index.ts";
import type { ByteWriter } from "../../../../ground/bytes/writer.ts";
import { pointerBytes, writePointer } from "../pointers.ts";
import { type NewStretch, RowWriter } from "./frame-rows.ts";
import { ROUTINE_CIE, type RoutineFrame } from "./routine-frames.ts";
import type { ShiftCursor } from "./stack-shifts.ts";

const WORD = 4;
/** The bits of an encoding that say what a pointer is relative to. */
const APPLICATION = 0x70;

/** A CIE that is written: its address, and the instructions that all its functions begin with. */
interface WrittenCie {
  at: number;
  initial: Uint8Array;
}

/** Writes call frame information one function after the other. */
export class FrameWriter {
  /** Addresses of code, and of what is written for it. */
  readonly rows: { start: number; entry: number }[] = [];
  readonly #out: ByteWriter;
  readonly #object: ObjectFile;
  readonly #address: number;
  readonly #textAddress: number;
  readonly #cies = new Map<number, WrittenCie>();

  /** @param address of the first byte of `out`, and of the new text */
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

  /** What holds in a stretch of a function. @param table address of its table of exceptions */
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
    for (const one of routines)
      this.#entry(cie, cieAt, one, undefined, () => this.#out.bytes(one.instructions));
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

/** To the next address that entries may begin at. */
export function pad(out: ByteWriter): void {
  while (out.length % WORD !== 0) out.u8(0);
}
