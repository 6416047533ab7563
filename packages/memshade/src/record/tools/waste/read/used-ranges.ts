import { type MemoryRange, withoutUnused } from "../../unused-tables.ts";
import type { WasteDescription } from "../description.ts";
import { Control, DIRTY_LINE_SHIFT } from "../layout.ts";
import { coveredNow } from "./tables.ts";

/** Returns the ranges of the waste tool's memory that `WasteReader` reads. */
export function usedRanges(memory: WebAssembly.Memory, description: WasteDescription): MemoryRange[] {
  const view = new DataView(memory.buffer);
  const { covered, engine, isSplit, arena, arenaLimit } = description;
  const now = coveredNow({ view, further: [], description });
  /** Range of a table, with `perByte` bytes per byte of the program, for memory that the program does not have yet. */
  const beyond = (table: number, perByte: number): MemoryRange => [
    table + Math.ceil(now * perByte),
    table + Math.floor(covered * perByte),
  ];
  return withoutUnused(memory.buffer.byteLength, [
    beyond(description.seen, engine === "full" ? 1 : 2),
    ...(isSplit ? [] : [beyond(description.writers, 4)]),
    ...(isSplit || engine === "brief" ? [] : [beyond(description.readers, 4)]),
    beyond(description.sizes, 0.5),
    ...(description.objects ? [beyond(description.blockOf, 0.5)] : []),
    ...(description.readMarks === 0
      ? []
      : [beyond(description.readMarks, 0.25), beyond(description.blockPath, 0.25)]),
    ...(description.dirty === 0
      ? []
      : [
          beyond(description.dirty, 2 ** -DIRTY_LINE_SHIFT),
          beyond(description.dirtyList, 4 * 2 ** -DIRTY_LINE_SHIFT),
        ]),
    ...(arena === 0
      ? []
      : [[view.getUint32(description.control + Control.frameNext, true), arenaLimit] as const]),
  ]);
}

/** Returns the used ranges of a memory with one word per byte of the program. */
export function usedWords(
  memory: WebAssembly.Memory,
  main: WebAssembly.Memory,
  description: WasteDescription,
): MemoryRange[] {
  const now = coveredNow({ view: new DataView(main.buffer), further: [], description });
  return withoutUnused(memory.buffer.byteLength, [[now * 4, memory.buffer.byteLength]]);
}
