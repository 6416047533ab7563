import type { DescribeHostFrame } from "../../tools/heap/read/host-callers.ts";
import type { SourceOf } from "./host-stacks.ts";

/** What a host knows of the scripts that it runs. */
export interface KnownScripts {
  /** Where the author wrote what runs, as far as only the host knows. */
  sourceOf: SourceOf;
  /** Tells of frames what the files of their scripts say. Files that were read once are not read again. */
  describer(): DescribeHostFrame;
}

let known: KnownScripts | undefined;

/** To be called where scripts are files. */
export function knowScripts(scripts: KnownScripts): void {
  known = scripts;
}

/** Undefined in web pages. */
export function knownScripts(): KnownScripts | undefined {
  return known;
}
