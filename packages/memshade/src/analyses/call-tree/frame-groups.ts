import type { StackFrame, StackGrouping } from "./weighted-stacks.ts";

/** For each frame the number of its group: its own, or that of all places in its function. */
export function frameGroups(frames: readonly StackFrame[], group: StackGrouping): Int32Array {
  if (group === "site") return Int32Array.from(frames.keys());
  const files = filesOfFunctions(frames);
  const numbers = new Map<string, number>();
  return Int32Array.from(frames, (frame) => {
    const key = functionKey(frame, files);
    let number = numbers.get(key);
    if (number === undefined) {
      number = numbers.size;
      numbers.set(key, number);
    }
    return number;
  });
}

/** Functions of one name in several files are several; a place without a file is in the one that its function has. */
function functionKey(frame: StackFrame, files: ReadonlyMap<string, ReadonlySet<string>>): string {
  if (frame.function === undefined) return `\n${frame.module}\n${frame.address}`;
  const name = nameKey(frame);
  return files.get(name)!.size < 2 ? name : `${name}\n${frame.file}`;
}

function filesOfFunctions(frames: readonly StackFrame[]): Map<string, Set<string>> {
  const files = new Map<string, Set<string>>();
  for (const frame of frames) {
    const name = nameKey(frame);
    if (!files.has(name)) files.set(name, new Set());
    if (frame.file !== undefined) files.get(name)!.add(frame.file);
  }
  return files;
}

function nameKey({ function: name, module, isWord }: StackFrame): string {
  return `${isWord} ${name}\n${module}`;
}
