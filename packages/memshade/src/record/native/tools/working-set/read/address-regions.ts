import type { Region } from "./marked-lines.ts";

/** `[start, end)` */
export interface AddressRange {
  start: number;
  end: number;
}

/** A stack may grow by so much from where the program's first words lie; the system keeps others off there. */
const MOST_STACK_BYTES = 120 * 2 ** 20;
const ABOVE_STACK_BYTES = 16 * 2 ** 20;
/** Below the stack of a thread is a range that nobody may touch; between others such ranges are larger. */
const MOST_GUARD_BYTES = 64 * 2 ** 10;
/** What the kernel says behind the path of a file that has been removed: it is the same file as before. */
const REMOVED = / \(deleted\)$/;
const MAPPING = /^([0-9a-f]+)-([0-9a-f]+) (\S{4}) \S+ \S+ \d+\s*(.*)$/;

/**
 * Parts of files that a process has mapped, by the files' paths.
 *
 * @param ours a folder whose files are left out
 */
export function mappedFiles(maps: string, ours: string): (AddressRange & { name: string })[] {
  return maps.split("\n").flatMap((line) => {
    const [, from, to, , name] = MAPPING.exec(line) ?? [];
    if (name === undefined || !name.startsWith("/") || name.startsWith(`${ours}/`)) return [];
    return [
      { start: Number.parseInt(from, 16), end: Number.parseInt(to, 16), name: name.replace(REMOVED, "") },
    ];
  });
}

/** Stacks of threads among the mappings of a process, as the kernel lists them: memory without a file behind a guard. */
export function threadStacks(maps: string): AddressRange[] {
  const stacks: AddressRange[] = [];
  let guard = 0;
  for (const line of maps.split("\n")) {
    const [, from, to, rights, name] = MAPPING.exec(line) ?? [];
    if (from === undefined) continue;
    const [start, end] = [Number.parseInt(from, 16), Number.parseInt(to, 16)];
    if (rights === "---p") guard = name === "" && end - start <= MOST_GUARD_BYTES ? end : 0;
    else if (rights === "rw-p" && name === "" && start === guard) stacks.push({ start, end });
  }
  return stacks;
}

/** What lies at an address. `stackTop`: an address near the upper end of the first thread's stack; 0: not known. */
export function regionOf(
  address: number,
  {
    objects,
    stacks,
    stackTop,
  }: { objects: readonly AddressRange[]; stacks: readonly AddressRange[]; stackTop: number },
): Region {
  const isIn = ({ start, end }: AddressRange): boolean => address >= start && address < end;
  if (stackTop > 0 && isIn({ start: stackTop - MOST_STACK_BYTES, end: stackTop + ABOVE_STACK_BYTES }))
    return "stack";
  if (stacks.some(isIn)) return "stack";
  return objects.some(isIn) ? "static" : "heap";
}
