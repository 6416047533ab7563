import type { UnwindOptions as WalkOptions } from "../../code/unwind/index.ts";
import { ObjectFinder } from "../../names/load/objects.ts";
import type { UnwindOptions } from "./options.ts";

/** Finds objects where the options say. */
export function finderOf({ binaryPath = [], sysroot, debugFileDirectory }: UnwindOptions): ObjectFinder {
  return new ObjectFinder({
    binaryPaths: binaryPath,
    ...(sysroot === undefined ? {} : { sysroot }),
    ...(debugFileDirectory === undefined ? {} : { debugDirectories: debugFileDirectory }),
  });
}

/** How stacks are walked. */
export function walkOptions({ framePointers, scan, maxFrames }: UnwindOptions): WalkOptions {
  return { framePointers, scan: scan === true, ...(maxFrames === undefined ? {} : { maxFrames }) };
}
