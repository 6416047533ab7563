import type { ObjectFile } from "../../objects/types.ts";
import { FLOW } from "../../x64/decode/index.ts";
import type { Code, CodeFunction } from "./code.ts";
import { relocatedPointers } from "./dynamic.ts";

const WORD = 8;
const PF_X = 1;
/** A function with fewer calls says nothing: a label may follow one that does not return. */
const LEAST_CALLS = 2;

/**
 * Functions whose frames are found by a table of return addresses, as the garbage collector of OCaml finds them: these must not call
 * from elsewhere. A file has such a table if all calls of a function are in it.
 *
 * @returns addresses (SVMA) of the functions
 */
export function functionsByReturnAddress(code: Code, object: ObjectFile): Set<number> {
  const pointed = new Uint8Array(code.count + 1);
  for (const address of object.type === "executable" ? dataWords(object) : relocatedPointers(object)) {
    const instruction = code.instructionAt(address - code.base);
    if (instruction >= 0) pointed[instruction] = 1;
  }
  const found = new Set<number>();
  let hasTable = false;
  for (const one of code.functions) {
    const { calls, known } = returnsOf(code, one, pointed);
    if (known > 0) found.add(code.base + one.start);
    hasTable ||= calls >= LEAST_CALLS && known === calls;
  }
  return hasTable ? found : new Set();
}

/** How many calls a function has, and of how many the address behind is pointed to. */
function returnsOf(
  { flows, offsets, lengths }: Code,
  { first, last }: CodeFunction,
  pointed: Uint8Array,
): { calls: number; known: number } {
  let calls = 0;
  let known = 0;
  for (let i = first; i < last; i++) {
    if (flows[i] !== FLOW.call && flows[i] !== FLOW.indirectCall) continue;
    calls++;
    if (offsets[i + 1] === offsets[i] + lengths[i]) known += pointed[i + 1];
  }
  return { calls, known };
}

/** Words of data: in code at fixed addresses no relocation says which of them are addresses. */
function* dataWords(object: ObjectFile): Iterable<number> {
  for (const { flags, address, fileSize } of object.segments) {
    if ((flags & PF_X) !== 0) continue;
    const bytes = object.bytesAt(address, fileSize);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    for (let at = -address & (WORD - 1); at + WORD <= bytes.length; at += WORD)
      if (view.getUint32(at + 4, true) === 0) yield view.getUint32(at, true);
  }
}
