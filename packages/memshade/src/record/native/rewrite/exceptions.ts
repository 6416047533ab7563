import type { ObjectFile } from "../../../code/objects/types.ts";
import { CfiCursor, DW_EH_PE, type FrameEntry } from "../../../code/unwind/index.ts";
import { pointerBytes } from "./pointers.ts";

/** A stretch of a function in which exceptions have a landing pad, or go on to the caller. Offsets from the function's start. */
export interface CallSite {
  readonly start: number;
  readonly end: number;
  /** 0: none */
  readonly landingPad: number;
  /** 1 + offset in the table of actions; 0: cleanups only */
  readonly action: number;
}

/** A function's table of exceptions (LSDA), as GCC and Clang write it: Itanium C++ ABI, "Exception Handling Tables". */
export interface ExceptionTable {
  readonly callSites: readonly CallSite[];
  readonly actions: Uint8Array;
  readonly typeEncoding: number;
  /** Addresses (SVMA) that the table of types has, 0 for "any"; the first one is number 1. */
  readonly types: readonly number[];
  /** Lists of types that a function may throw, behind the table of types. */
  readonly specifications: Uint8Array;
}

/** More than any table has that a compiler made. */
const MOST_BYTES = 1 << 20;

/** Reads the table at an address; undefined where it is not understood. */
export function readExceptionTable(object: ObjectFile, address: number): ExceptionTable | undefined {
  const bytes = object.bytesAt(address, MOST_BYTES);
  // Pointers to where the address of a type is to be found stay as they are: that is not read here.
  const cursor = new CfiCursor({ kind: "eh_frame", bytes, address, addressSize: 8 });
  cursor.end = bytes.length;
  // Landing pads elsewhere than in the function itself.
  if (cursor.unsigned(1) !== DW_EH_PE.omit) return undefined;
  const typeEncoding = cursor.unsigned(1);
  const typesFrom = typeEncoding === DW_EH_PE.omit ? undefined : cursor.uleb();
  const typesAt = typesFrom === undefined ? undefined : cursor.position + typesFrom;
  const encoding = cursor.unsigned(1);
  const length = cursor.uleb();
  const end = cursor.position + length;
  if (!(end <= cursor.end)) return undefined;
  const callSites: CallSite[] = [];
  while (cursor.position < end) {
    const start = cursor.encodedValue(encoding);
    const size = cursor.encodedValue(encoding);
    const landingPad = cursor.encodedValue(encoding);
    callSites.push({ start, end: start + size, landingPad, action: cursor.uleb() });
  }
  if (cursor.position !== end) return undefined;
  return readTypes(cursor, callSites, end, typeEncoding, typesAt);
}

function readTypes(
  cursor: CfiCursor,
  callSites: readonly CallSite[],
  actionsAt: number,
  typeEncoding: number,
  typesAt: number | undefined,
): ExceptionTable | undefined {
  const filters = new Set<number>();
  let actionsEnd = actionsAt;
  const seen = new Set<number>();
  for (const { action } of callSites)
    for (let at = actionsAt + action - 1; action > 0 && !seen.has(at); ) {
      seen.add(at);
      cursor.position = at;
      filters.add(cursor.sleb());
      const next = cursor.position;
      const distance = cursor.sleb();
      if (!(cursor.position <= cursor.end)) return undefined;
      actionsEnd = Math.max(actionsEnd, cursor.position);
      if (distance === 0) break;
      at = next + distance;
    }
  const actions = cursor.bytes.slice(actionsAt, actionsEnd);
  const empty = { callSites, actions, typeEncoding, types: [], specifications: new Uint8Array(0) };
  if (typesAt === undefined || typesAt > cursor.end)
    return filters.size > 0 && filters.has(1) ? undefined : empty;

  let specificationsEnd = typesAt;
  let last = Math.max(0, ...filters);
  for (const filter of filters) {
    if (filter >= 0) continue;
    cursor.position = typesAt - filter - 1;
    for (let type = cursor.uleb(); type > 0; type = cursor.uleb()) last = Math.max(last, type);
    if (!(cursor.position <= cursor.end)) return undefined;
    specificationsEnd = Math.max(specificationsEnd, cursor.position);
  }
  const size = pointerBytes(typeEncoding);
  if (size === undefined || !(last * size <= typesAt)) return undefined;
  const types: number[] = [];
  for (let number = 1; number <= last; number++) {
    cursor.position = typesAt - number * size;
    const isNull = cursor.encodedValue(typeEncoding) === 0;
    cursor.position = typesAt - number * size;
    types.push(isNull ? 0 : cursor.encodedPointer(typeEncoding & ~DW_EH_PE.indirect));
  }
  const specifications = cursor.bytes.slice(typesAt, specificationsEnd);
  return { callSites, actions, typeEncoding, types, specifications };
}

/** Whether a function's entry in `.eh_frame` and its table of exceptions are understood, and can be written again. */
export function canMoveFrame(frame: FrameEntry, exceptions: ExceptionTable | undefined): boolean {
  const { pointerEncoding, lsdaEncoding, addressSize } = frame.cie;
  if (addressSize !== 8 || pointerBytes(pointerEncoding) === undefined) return false;
  if (frame.lsda === undefined) return true;
  if (exceptions === undefined || pointerBytes(lsdaEncoding) === undefined) return false;
  return exceptions.types.length === 0 || pointerBytes(exceptions.typeEncoding) !== undefined;
}
