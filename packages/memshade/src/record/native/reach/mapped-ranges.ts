/** A range of addresses that a process has mapped. */
export interface MappedRange {
  start: number;
  end: number;
  /** `rwxp`, or dashes. */
  access: string;
  /** 0: no file. */
  inode: number;
  /** Of a file, or what the kernel calls it; empty: memory without a name. */
  path: string;
}

const LINE = /^([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ (\d+) *(.*)$/gm;
const DELETED = / \(deleted\)$/;

/** Reads what the kernel tells of a process in `maps`. Ranges are in the order of their addresses. */
export function readMappedRanges(maps: string): MappedRange[] {
  return Array.from(maps.matchAll(LINE), ([, start, end, access, inode, path]) => ({
    start: Number.parseInt(start!, 16),
    end: Number.parseInt(end!, 16),
    access: access!,
    inode: Number(inode),
    path: path!.replace(DELETED, ""),
  }));
}

/** Memory of its own that has no file. */
export function isAnonymous({ inode, path, access }: MappedRange): boolean {
  return inode === 0 && access[3] === "p" && (path === "" || path.startsWith("[anon"));
}

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
