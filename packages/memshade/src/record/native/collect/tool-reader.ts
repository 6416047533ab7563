import type { RunModule } from "../../../profile/model/run.ts";
import type { RunPart } from "../../tools/assemble-run.ts";
import type { RewrittenFile } from "../rewritten/rewrite-files.ts";
import type { LeftBehind, RecordedProgram } from "./left-behind.ts";
import type { ProcessModule } from "./modules.ts";

/** A process whose data are read, in the form that all tools get. */
export interface LeftProcess {
  readonly data: LeftBehind;
  readonly view: DataView;
  readonly program: RecordedProgram;
  /** Modules, and their entries in run.json. */
  readonly modules: readonly ProcessModule[];
  readonly described: readonly RunModule[];
  /** Modules of memshade, which are left out of call paths. */
  readonly ours: readonly ProcessModule[];
  readonly rewritten: readonly RewrittenFile[];
  /** Returns the original's site for a site of a rewritten file. */
  readonly originalOf: (site: number) => number;
  /** True for a dump. */
  readonly isRunning: boolean;
}

/** Makes a part of a run from the data of a tool's inserted code. */
export interface ToolReader {
  /** True if its file of counts shows which bytes were read. */
  readonly hasCounts?: boolean | undefined;
  /** True if it counts all accesses of a file that is rewritten completely. */
  readonly countsAccesses?: boolean | undefined;
  /** True if blocks of the allocator are not recorded. */
  readonly withoutBlocks?: boolean | undefined;
  /** @throws UserError if there are no data */
  read?(process: LeftProcess): ReadTool;
}

export interface ReadTool {
  /** Undefined if the tool has no data of this process; `gaps` has the reasons. */
  readonly part: RunPart | undefined;
  readonly gaps: readonly string[];
  /** Modules of the run, if the tool has found more. */
  readonly modules?: readonly RunModule[] | undefined;
}
