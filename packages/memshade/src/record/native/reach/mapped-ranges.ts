export interface MappedRange {
  start: number;
  end: number;
  /** Four letters of `rwxp`, or dashes. */
  access: string;
  /** 0 if the range has no file. */
  inode: number;
  /** Path of the file, or the kernel's name; empty for memory without a name. */
  path: string;
}

const LINE = /^([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ (\d+) *(.*)$/gm;
const DELETED = / \(deleted\)$/;

/** Parses /proc/PID/maps. Ranges are sorted by address. */
export function readMappedRanges(maps: string): MappedRange[] {
  return Array.from(maps.matchAll(LINE), ([, start, end, access, inode, path]) => ({
    start: Number.parseInt(start!, 16),
    end: Number.parseInt(end!, 16),
    access: access!,
    inode: Number(inode),
    path: path!.replace(DELETED, ""),
  }));
}

/** Returns true for private memory without a file. */
export function isAnonymous({ inode, path, access }: MappedRange): boolean {
  return inode === 0 && access[3] === "p" && (path === "" || path.startsWith("[anon"));
}

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
