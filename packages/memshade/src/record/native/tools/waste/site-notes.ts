import { closeSync, openSync, readSync } from "node:fs";
import { FormatError } from "../../../../ground/bytes/errors.ts";
import { ByteWriter } from "../../../../ground/bytes/writer.ts";
import type { AccessKind, Unfollowed } from "./accesses.ts";
import type { SitePlace } from "./site-places.ts";

/** An access of a file, and where its figures are. */
export interface NativeSite {
  kind: AccessKind;
  /** Address (SVMA) of its instruction. */
  address: number;
  /** Of string instructions, those of an element. */
  bytes: number;
  /** Addresses of its slots; 0: it has none. */
  loadSlot: number;
  storeSlot: number;
  /** Address of the slot with the runs of its block. */
  blockSlot: number;
}

/** What a file's plan has come to. */
export interface WasteSites {
  sites: NativeSite[];
  /** Its slots: `[from, to)`. */
  from: number;
  to: number;
  unfollowed: Unfollowed;
  /** Accesses for which there were no slots left. */
  unplaced: number;
}

const KINDS: readonly AccessKind[] = ["load", "store", "update", "atomic", "string", "fill"];
const COUNTS = ["stack", "thread", "unusual"] as const satisfies readonly (keyof Unfollowed)[];
const VERSION = 1;
const [FROM, TO] = [2, 3];
const HEADER_WORDS = 5 + COUNTS.length;
const SITE_WORDS = 5;
const WORD = 4;

/**
 * What is kept of a file's sites: words of 32 bits, a few for all and some for each. A large file has a million of them: they are kept as what
 * will be written.
 */
export class SiteNotes {
  readonly #words = new ByteWriter();
  #count = 0;

  add({ kind, address, bytes, loadSlot, storeSlot, blockSlot }: NativeSite): void {
    this.#count++;
    this.#words
      .u32(address)
      .u32((bytes << 8) | KINDS.indexOf(kind))
      .u32(loadSlot)
      .u32(storeSlot)
      .u32(blockSlot);
  }

  write({ from, to, unfollowed, unplaced }: Omit<WasteSites, "sites">): Uint8Array {
    const out = new ByteWriter(WORD * HEADER_WORDS + this.#words.length);
    out.u32(VERSION).u32(this.#count).u32(from).u32(to).u32(unplaced);
    for (const count of COUNTS) out.u32(unfollowed[count]);
    return out.bytes(this.#words.view()).view();
  }
}

/** @throws FormatError if it is none of this version */
export function readNotes(bytes: Uint8Array): WasteSites {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const word = (at: number): number => view.getUint32(WORD * at, true);
  if (
    bytes.length < WORD * HEADER_WORDS ||
    word(0) !== VERSION ||
    bytes.length !== WORD * (HEADER_WORDS + SITE_WORDS * word(1))
  )
    throw new FormatError("malformed", 0, "notes of a rewritten file", "they are not whole");
  const sites = Array.from({ length: word(1) }, (_, i): NativeSite => {
    const at = HEADER_WORDS + SITE_WORDS * i;
    const what = word(at + 1);
    return {
      kind: KINDS[what & 0xff],
      address: word(at),
      bytes: what >> 8,
      loadSlot: word(at + 2),
      storeSlot: word(at + 3),
      blockSlot: word(at + 4),
    };
  });
  const [stack, thread, unusual] = COUNTS.map((_, i) => word(5 + i));
  return { sites, from: word(FROM), to: word(TO), unplaced: word(4), unfollowed: { stack, thread, unusual } };
}

/** The slots that notes are of; undefined: there are none. */
export function notedPlace(path: string): SitePlace | undefined {
  const header = new DataView(new ArrayBuffer(WORD * HEADER_WORDS));
  let file: number | undefined;
  try {
    file = openSync(path, "r");
    if (readSync(file, header) < header.byteLength) return undefined;
    return { from: header.getUint32(WORD * FROM, true), to: header.getUint32(WORD * TO, true) };
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
