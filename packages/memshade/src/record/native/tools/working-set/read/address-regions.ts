import type { Region } from "./marked-lines.ts";

/** Addresses `[start, end)`. */
export interface AddressRange {
  start: number;
  end: number;
}

/** Growth limit of the first stack, measured from the program's first words. The system maps nothing else there. */
const MOST_STACK_BYTES = 120 * 2 ** 20;
const ABOVE_STACK_BYTES = 16 * 2 ** 20;
/** Size limit of the guard below a thread's stack. Inaccessible ranges elsewhere are larger. */
const MOST_GUARD_BYTES = 64 * 2 ** 10;
/** Suffix that the kernel appends to the path of a removed file. */
const REMOVED = / \(deleted\)$/;
const MAPPING = /^([0-9a-f]+)-([0-9a-f]+) (\S{4}) \S+ \S+ \d+\s*(.*)$/;

/**
 * Returns the file mappings of a process.
 *
 * @param ours a folder whose files are excluded
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

/** Finds the stacks of threads in `/proc/PID/maps`: anonymous memory directly after a guard. */
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

/** Classifies an address. `stackTop`: address near the upper end of the first thread's stack; 0 if unknown. */
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
