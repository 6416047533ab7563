import { functionGuid, type KnownFunction } from "../../formats/memprof/index.ts";
import { loadObject } from "../../load/objects.ts";
import { loadSymbolizer } from "../../load/symbolizer.ts";

/** Inlined functions are found by looking at so many places of the code at most. */
const MOST_PLACES = 500_000;
const STEP_BYTES = 4;
const EXECUTABLE = 1;

/**
 * Names of functions for the GUIDs of an indexed profile, which has no names: from the debug information of binaries.
 *
 * @param wanted GUIDs; the search ends when all are found
 */
export function findFunctions(
  binaries: readonly string[],
  wanted: ReadonlySet<bigint>,
): ReadonlyMap<bigint, KnownFunction> {
  const found = new Map<bigint, KnownFunction>();
  for (const file of binaries) searchBinary(file, wanted, found);
  return found;
}

function searchBinary(file: string, wanted: ReadonlySet<bigint>, found: Map<bigint, KnownFunction>): void {
  const loaded = loadObject(file);
  const { object } = loaded;
  const symbolizer = loadSymbolizer(loaded, { useSymbolTable: false });
  const guids = new Map<string, bigint>();
  const lookAt = (address: number) => {
    for (const { linkageName: text, startFile, file: callFile, startLine } of symbolizer.frames(address)) {
      if (text === undefined || guids.has(text)) continue;
      const guid = functionGuid(text);
      guids.set(text, guid);
      if (wanted.has(guid)) found.set(guid, { name: text, file: startFile ?? callFile, startLine });
    }
  };
  const ranges =
    object.kind === "wasm"
      ? [{ address: 0, size: object.size }]
      : object.segments
          .filter(({ flags }) => (flags & EXECUTABLE) !== 0)
          .map(({ address, memorySize }) => ({ address, size: memorySize }));
  let left = MOST_PLACES;
  for (const { address, size } of ranges) {
    for (let at = 0; at < size && left-- > 0 && found.size < wanted.size; at += STEP_BYTES)
      lookAt(address + at);
  }
}
