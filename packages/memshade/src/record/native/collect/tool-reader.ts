import type { RunModule } from "../../../profile/model/run.ts";
import type { RunPart } from "../../tools/assemble-run.ts";
import type { RewrittenFile } from "../rewritten/rewrite-files.ts";
import type { LeftBehind, RecordedProgram } from "./left-behind.ts";
import type { ProcessModule } from "./modules.ts";

/** A process that is read, as all tools see it. */
export interface LeftProcess {
  readonly left: LeftBehind;
  /** Of its memory. */
  readonly view: DataView;
  readonly program: RecordedProgram;
  /** Its modules, and what run.json says of each. */
  readonly modules: readonly ProcessModule[];
  readonly described: readonly RunModule[];
  /** Modules of memshade, whose places are left out of call paths. */
  readonly ours: readonly ProcessModule[];
  /** Files that stood in the place of others. */
  readonly rewritten: readonly RewrittenFile[];
  /** The site of the original that a site of a file in its place is. */
  readonly originalOf: (site: number) => number;
  /** It goes on: this is a dump. */
  readonly isRunning: boolean;
}

/** How what a tool's inserted code has left becomes a part of a run. */
export interface ToolReader {
  /** Its file of counts says which bytes were read. */
  readonly hasCounts?: boolean | undefined;
  /** It counts all accesses of a file that was rewritten as a whole. */
  readonly countsAccesses?: boolean | undefined;
  /** The allocator is left alone. */
  readonly withoutBlocks?: boolean | undefined;
  /** @throws UserError where there is nothing to be read */
  read?(process: LeftProcess): ReadTool;
}

/** What was read. */
export interface ReadTool {
  /** Absent where the tool has nothing of this process: `gaps` say why. */
  readonly part: RunPart | undefined;
  /** Sentences about what is missing. */
  readonly gaps: readonly string[];
  /** The modules of the run, where the tool knows of more. */
  readonly modules?: readonly RunModule[] | undefined;
}
