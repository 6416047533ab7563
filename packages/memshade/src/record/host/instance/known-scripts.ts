import type { DescribeHostFrame } from "../../tools/heap/read/host-callers.ts";
import type { SourceOf } from "./host-stacks.ts";

/** Data of a host about the scripts that it runs. */
export interface KnownScripts {
  /** Returns the position in the author's source of running code, if only the host has it. */
  sourceOf: SourceOf;
  /** Returns a function that adds data from script files to frames. Each file is read once. */
  describer(): DescribeHostFrame;
}

let known: KnownScripts | undefined;

/** Sets the data about scripts. Call it where scripts are files. */
export function knowScripts(scripts: KnownScripts): void {
  known = scripts;
}

/** Returns the data about scripts; undefined in web pages. */
export function knownScripts(): KnownScripts | undefined {
  return known;
}
