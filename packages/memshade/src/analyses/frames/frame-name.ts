import type { HeapProfile } from "../../model/heap-profile.ts";
import { type IndexIntoFrameTable, NONE } from "../../model/indices.ts";

/** What a frame is called: its function, demangled; where that has no name `func[12]`, or the place itself, `[libz.so.1]+0x1a2b`. */
export function frameName(
  { frames, functions, strings, modules }: HeapProfile,
  frame: IndexIntoFrameTable,
): string {
  const row = frames.function[frame]!;
  const name = functions.name[row]!;
  if (name !== NONE) return strings[name]!;
  const index = functions.wasmIndex[row]!;
  if (index !== NONE) return `func[${index}]`;
  const module = functions.module[row]!;
  return `[${module === NONE ? "unknown code" : modules[module]!.name}]+0x${frames.offset[frame]!.toString(16)}`;
}
