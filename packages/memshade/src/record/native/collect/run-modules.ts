import { existsSync, realpathSync, statSync } from "node:fs";
import { basename } from "node:path";
import type { ObjectSegment } from "../../../code/objects/index.ts";
import { loadObject } from "../../../names/load/objects.ts";
import type { RawSegment } from "../../../profile/model/raw-profile.ts";
import type { RunModule } from "../../../profile/model/run.ts";
import type { ProcessModule } from "./modules.ts";

const EXECUTABLE = 1;

/** MemProf's readers take a segment for the one with the code: where the object has that is in its file. */
export function ofCode(module: ProcessModule, file: string): ProcessModule {
  if (!module.isObject) return module;
  const segment = executableSegment(module.name || file);
  const skipped = segment === undefined ? 0 : segment.address - module.address;
  if (skipped <= 0 || module.start + skipped >= module.end) return module;
  return { ...module, start: module.start + skipped, address: module.address + skipped };
}

function executableSegment(path: string): ObjectSegment | undefined {
  try {
    return loadObject(path).object.segments.find(({ flags }) => (flags & EXECUTABLE) !== 0);
  } catch {
    // It is gone, or it is none, as the kernel's own: its file has no say.
    return undefined;
  }
}

export function segmentOf({ start, end, buildId }: ProcessModule): RawSegment {
  const bytes = Uint8Array.from(buildId.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
  return { start: BigInt(start), end: BigInt(end), offset: BigInt(start), buildId: bytes };
}

function isAmong(path: string | null, files: ReadonlySet<string>): boolean {
  return path !== null && existsSync(path) && files.has(realpathSync(path));
}

/** @param file path of the program @param counted paths of files all of whose code counts accesses; undefined: none was inserted */
export function describeModule(
  module: ProcessModule,
  index: number,
  file: string,
  counted: ReadonlySet<string> | undefined,
): RunModule {
  const path = module.isObject ? module.name || file : null;
  return {
    index,
    name: path === null ? "[memory with code]" : basename(path),
    path,
    buildId: module.buildId,
    bytes: (path === null ? undefined : statSync(path, { throwIfNoEntry: false })?.size) ?? 0,
    codeBytes: module.end - module.start,
    instances: 1,
    start: `0x${module.start.toString(16)}`,
    object: {
      kind: "elf",
      address: module.address,
      ...(counted === undefined || isAmong(path, counted) ? {} : { isUncounted: true }),
    },
    allocator: { how: "names", confirmed: true, functions: [] },
    functions: [],
    notTracked: [],
  };
}
