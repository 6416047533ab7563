import type { ObjectFile } from "../../../code/objects/types.ts";
import { FLOW } from "../../../code/x64/decode/index.ts";
import { int32At } from "../../../ground/bytes/int32.ts";
import { OPCODE } from "./address-flow.ts";
import type { Code, CodeFunction } from "./code.ts";
import { pointersIn } from "./dynamic.ts";
import { importedFunctions } from "./imported-functions.ts";
import { relativeAddress } from "./jump-tables.ts";
import { slotOfCall } from "./memory-readers.ts";

const PF_X = 1;
const CONSTANT_BYTES = 4;
/** Functions that take the ends of code for numbers: those of gprof. */
const TAKERS: ReadonlySet<string> = new Set(["__monstartup", "monstartup"]);

/**
 * Whether an object has the address of its code's end (`etext`), as programs have that make a sum of all of it: nothing else tells them where
 * it ends.
 */
export function hasAddressOfCodeEnd(code: Code, object: ObjectFile): boolean {
  const ends = endsOfCode(object);
  for (const { address } of pointersIn(object)) if (ends.has(address)) return true;
  let imported: ReadonlyMap<number, string> | undefined;
  const areFixed = object.type === "executable";
  for (const one of code.functions) {
    if (!putsAddress(code, one, ends, areFixed)) continue;
    imported ??= importedFunctions(object);
    if (!callsTaker(code, one, imported)) return true;
  }
  return false;
}

/** Of segments and of the last section of them: linkers differ. What begins there is no end. */
function endsOfCode({ segments, sections }: ObjectFile): Set<number> {
  const ends = new Set<number>();
  for (const { flags, address, fileSize } of segments) if ((flags & PF_X) !== 0) ends.add(address + fileSize);
  for (const { name, address, size } of sections) if (name === ".fini") ends.add(address + size);
  for (const { address } of [...segments, ...sections]) ends.delete(address);
  return ends;
}

function putsAddress(
  code: Code,
  { first, last }: CodeFunction,
  addresses: ReadonlySet<number>,
  areFixed: boolean,
): boolean {
  const { bytes, offsets, lengths, opcodes, relativeAt } = code;
  for (let i = first; i < last; i++) {
    const constantAt = offsets[i] + lengths[i] - CONSTANT_BYTES;
    if (relativeAt[i] !== 0) {
      if (opcodes[i] === OPCODE.lea && addresses.has(relativeAddress(code, i))) return true;
    } else if (areFixed && constantAt > offsets[i] && addresses.has(int32At(bytes, constantAt))) return true;
  }
  return false;
}

function callsTaker(
  code: Code,
  { first, last }: CodeFunction,
  imported: ReadonlyMap<number, string>,
): boolean {
  for (let i = first; i < last; i++) {
    if (code.flows[i] !== FLOW.call && code.flows[i] !== FLOW.indirectCall) continue;
    if (TAKERS.has(imported.get(slotOfCall(code, i) ?? -1) ?? "")) return true;
  }
  return false;
}
