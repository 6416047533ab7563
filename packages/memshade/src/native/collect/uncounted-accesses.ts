import { getSystemErrorName } from "node:util";
import { describeSystemError } from "../../bytes/system-errors.ts";
import { Header } from "../layout.ts";

const LEFT_OUT =
  "Accesses are counted where a register leads to them: not those of static data and of stacks by their names, of the system (read, write), of gathers and scatters, and of code that was not rewritten, as the dynamic linker's.";
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

function unshared(failure: number): string {
  const code = getSystemErrorName(-failure);
  const reason = describeSystemError(Object.assign(new Error(code), { code }));
  return `The counters of accesses found no room outside of the program (${reason}): what was accessed of blocks that were live at the end is not known, and counts as nothing.`;
}
