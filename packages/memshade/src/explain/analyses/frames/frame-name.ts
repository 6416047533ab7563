import type { HeapProfile } from "../../../profile/model/heap-profile.ts";
import {
  type IndexIntoFrameTable,
  type IndexIntoFunctionTable,
  NONE,
} from "../../../profile/model/indices.ts";

/**
 * Returns the name of a frame: its demangled function. Without a function name it is `func[12]`, or the function's
 * start, `[libz.so.1]+0x1a20`, or the frame's own offset.
 */
export function frameName(profile: HeapProfile, frame: IndexIntoFrameTable): string {
  const { frames, functions, strings, modules } = profile;
  const row = frames.function[frame]!;
  const name = functions.name[row]!;
  if (name !== NONE) return strings[name]!;
  const number = functionNumber(profile, row);
  if (number !== undefined) return number;
  const module = functions.module[row]!;
  return `[${module === NONE ? "unknown code" : modules[module]!.name}]+0x${frames.offset[frame]!.toString(16)}`;
}

/**
 * Returns a substitute for a missing function name: `func[12]`, `[libz.so.1]+0x1a20`; undefined if the function is
 * unknown.
 */
export function functionNumber(
  { functions, modules }: HeapProfile,
  row: IndexIntoFunctionTable,
): string | undefined {
  const index = functions.wasmIndex[row]!;
  if (index === NONE) return undefined;
  const module = functions.module[row]!;
  const object = module === NONE ? undefined : modules[module]!;
  return object?.objectAddress === undefined ? `func[${index}]` : `[${object.name}]+0x${index.toString(16)}`;
}
