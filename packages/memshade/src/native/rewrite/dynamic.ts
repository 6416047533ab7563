import type { ObjectFile } from "../../objects/types.ts";

const PT_DYNAMIC = 2;
const [DT_NULL, DT_RELA, DT_RELASZ, DT_RELRSZ, DT_RELR] = [0, 7, 8, 35, 36];
const [R_X86_64_RELATIVE, R_X86_64_IRELATIVE] = [8, 37];
const RELA_BYTES = 24;
const WORD = 8;

/** Addresses (SVMA) that relocations write into the object's data: some are of code. */
export function* relocatedPointers(object: ObjectFile): Iterable<number> {
  const segment = object.programHeaders.find(({ type }) => type === PT_DYNAMIC);
  if (segment === undefined) return;
  const words = viewOf(object.bytesAt(segment.address, segment.fileSize));
  const dynamic = new Map<number, number>();
  for (let at = 0; at + 2 * WORD <= words.byteLength; at += 2 * WORD) {
    const tag = getWord(words, at);
    if (tag === DT_NULL) break;
    dynamic.set(tag, getWord(words, at + WORD));
  }
  const table = (at: number, size: number): DataView =>
    viewOf(
      object.bytesAt(dynamic.get(at) ?? 0, dynamic.get(at) === undefined ? 0 : (dynamic.get(size) ?? 0)),
    );
  yield* addends(table(DT_RELA, DT_RELASZ));
  for (const place of packedPlaces(table(DT_RELR, DT_RELRSZ))) {
    const word = viewOf(object.bytesAt(place, WORD));
    if (word.byteLength === WORD) yield getWord(word, 0);
  }
}

function* addends(relocations: DataView): Iterable<number> {
  for (let at = 0; at + RELA_BYTES <= relocations.byteLength; at += RELA_BYTES) {
    const type = relocations.getUint32(at + WORD, true);
    if (type === R_X86_64_RELATIVE || type === R_X86_64_IRELATIVE) yield getWord(relocations, at + 2 * WORD);
  }
}

/** Places of a table of relative relocations: addresses, and bits for the words that follow the last one. */
function* packedPlaces(words: DataView): Iterable<number> {
  let next = 0;
  for (let at = 0; at + WORD <= words.byteLength; at += WORD) {
    const word = words.getBigUint64(at, true);
    if ((word & 1n) === 0n) {
      yield Number(word);
      next = Number(word) + WORD;
      continue;
    }
    for (let bit = 1n; bit < 64n; bit++) if ((word >> bit) & 1n) yield next + WORD * (Number(bit) - 1);
    next += WORD * 63;
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

function getWord(view: DataView, at: number): number {
  return view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32;
}
