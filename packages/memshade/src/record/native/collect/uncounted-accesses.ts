import { Header } from "../layout.ts";
import { errorInWords } from "../start/error-in-words.ts";

const LEFT_OUT =
  "Accesses are counted where a register leads to them: not those of static data and of stacks by their names, of the system (read, write), of gathers and scatters, of `xlat`, and of code that was not rewritten, as the dynamic linker's. What the C library reads and writes by `memcpy`, `memset` and the like is an access for each 8 bytes; of a few bytes it makes some twice, others on another processor.";
const RACES =
  "Threads lose counts of accesses that they make to the same 8 bytes at the same time: those of blocks that threads share are at least.";

/** Sentences about which accesses of a program that counts them are in no block's figures. */
export function uncountedAccesses(view: DataView): string[] {
  const failure = view.getUint32(Header.countersFailure, true);
  return [
    LEFT_OUT,
    ...(view.getUint32(Header.threads, true) > 1 ? [RACES] : []),
    ...(failure === 0 ? [] : [unshared(failure)]),
  ];
}

/** What lines were marked is with the program alone. */
export function unsharedMarks(view: DataView): string[] {
  const failure = view.getUint32(Header.countersFailure, true);
  if (failure === 0) return [];
  return [
    `The marks of lines found no room outside of the program (${errorInWords(failure)}): there is no working set.`,
  ];
}

function unshared(failure: number): string {
  return `The counters of accesses found no room outside of the program (${errorInWords(failure)}): what was accessed of blocks that were live at the end is not known, and counts as nothing.`;
}
