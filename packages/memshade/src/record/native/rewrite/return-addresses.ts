import type { ObjectFile } from "../../../code/objects/types.ts";
import { FLOW } from "../../../code/x64/decode/index.ts";
import type { Code, CodeFunction } from "./code.ts";
import { dataWords, relocatedPointers } from "./dynamic.ts";

/**
 * Functions whose frames are found by a table of return addresses, as the garbage collector of OCaml finds them: these must not call
 * from elsewhere. A file has such a table if most calls of the functions that are pointed into like that are in it; else these are
 * labels that follow calls which do not return.
 *
 * @returns addresses (SVMA) of the functions
 */
export function functionsByReturnAddress(code: Code, object: ObjectFile): Set<number> {
  const pointed = new Uint8Array(code.count + 1);
  const mark = (address: number): void => {
    const instruction = code.instructionAt(address - code.base);
    if (instruction >= 0) pointed[instruction] = 1;
  };
  if (object.type === "executable") for (const { address } of dataWords(object)) mark(address);
  else for (const address of relocatedPointers(object)) mark(address);
  const found = new Set<number>();
  let allCalls = 0;
  let allKnown = 0;
  for (const one of code.functions) {
    const { calls, known } = returnsOf(code, one, pointed);
    if (known === 0) continue;
    found.add(code.base + one.start);
    allCalls += calls;
    allKnown += known;
  }
  return allKnown > allCalls / 2 ? found : new Set();
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
