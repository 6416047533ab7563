// Groups contexts to rows: by path, site, line, function, file or package.
import { entryOf } from "../../../../../ground/bytes/entries.ts";
import type { PageData } from "../../data/page-data.ts";
import type { Group } from "../state.ts";
import type { FrameNames } from "./names.ts";

/** Rows of contexts. Each row is named by a frame. */
export interface Grouping {
  readonly group: Group;
  /** Row of each context; −1 for contexts without amounts. */
  readonly rowOf: Int32Array;
  /** Frame of each row. */
  readonly frames: Int32Array;
  /** Contexts in row order: row `i` has `[offset[i], offset[i + 1])`. */
  readonly contexts: Int32Array;
  readonly offset: Int32Array;
}

/**
 * Returns the frame that names each context: of the program's own code if libraries are folded, else the
 * innermost one.
 */
export function namingFrames(data: PageData, isFolded: boolean): Int32Array {
  const { frame, site } = data.contexts;
  return isFolded ? site.map((context, index) => frame[context < 0 ? index : context]) : frame;
}

/** @param isUsed 1 for each context with any amount */
export function groupContexts(
  data: PageData,
  names: FrameNames,
  group: Group,
  naming: Int32Array,
  isUsed: Uint8Array,
): Grouping {
  const length = data.contexts.length;
  const rowOf = new Int32Array(length).fill(-1);
  const frames: number[] = [];
  const rowOfKey = new Map<string | number, number>();
  const keys = frameKeys(data, names, group);
  for (let context = 0; context < length; context++) {
    if (isUsed[context] === 0) continue;
    const frame = naming[context];
    const key = group === "path" ? context : keys(frame);
    let row = rowOfKey.get(key);
    if (row === undefined) {
      row = frames.length;
      frames.push(frame);
      rowOfKey.set(key, row);
    }
    rowOf[context] = row;
  }
  return { group, rowOf, frames: Int32Array.from(frames), ...listsOf(rowOf, frames.length) };
}

/**
 * Returns a key that is equal for frames of one row. A call with several copies in the code is one site.
 * Without lines, all calls of a function are one site, because they are indistinguishable.
 */
export function frameKeys(
  data: PageData,
  names: FrameNames,
  group: Group,
): (frame: number) => string | number {
  const { frames } = data;
  const keyByFrame = new Map<number, string | number>();
  const key = (frame: number): string | number => {
    const file = frames.file[frame];
    const line = frames.line[frame];
    const functionKey = `${frames.function[frame]} ${frames.module[frame]}`;
    switch (group) {
      case "path":
        return frame;
      case "site":
        return file < 0 || line === 0 ? functionKey : `${functionKey} ${file} ${line}`;
      case "line":
        return file < 0 || line === 0 ? functionKey : `${file}:${line}`;
      case "function":
        return functionKey;
      case "file":
        return file < 0 ? `in ${frames.module[frame]}` : file;
      case "package":
        return names.package(frame);
    }
  };
  return (frame) => {
    return entryOf(keyByFrame, frame, () => key(frame));
  };
}

function listsOf(rowOf: Int32Array, rows: number): { contexts: Int32Array; offset: Int32Array } {
  const offset = new Int32Array(rows + 1);
  for (const row of rowOf) if (row >= 0) offset[row + 1]++;
  for (let row = 0; row < rows; row++) offset[row + 1] += offset[row];
  const next = offset.slice();
  const contexts = new Int32Array(offset[rows]);
  rowOf.forEach((row, context) => {
    if (row >= 0) contexts[next[row]++] = context;
  });
  return { contexts, offset };
}
