import type { CpuSamples } from "../../../profile/model/cpu.ts";
import type { Run, RunChild } from "../../../profile/model/run.ts";
import type { ProfileFile } from "../../tools/assemble-run.ts";
import type { GranuleCounters } from "../../tools/heap/read/granule-counters.ts";
import type { KnownReach } from "../../tools/heap/read/reach/apply-reach.ts";
import type { InsertedTool } from "../native-tool.ts";
import type { RewrittenFile } from "../rewritten/rewrite-files.ts";
import type { NativeWorkingSetSession } from "../tools/working-set/read/native-session.ts";

export interface RecordedProgram {
  command: readonly string[];
  program: string;
  /** Path of the file that ran. */
  file: string;
  /** Sentences about calls that are not recorded. */
  notes: readonly string[];
  image: string;
  /** Names of programs that the process executed before, in order; they are not recorded. */
  earlier?: readonly string[] | undefined;
  /** True if no code can be inserted into it. */
  isLeftAlone?: boolean | undefined;
  tool?: InsertedTool | undefined;
}

export interface RecordingOptions {
  /** Unit of lifetimes: allocations so far, or milliseconds. */
  clock: "virtual" | "wall";
  blocks: boolean;
  mappings: boolean;
  /** Runs of child processes, if they are recorded. */
  children?: readonly RunChild[] | undefined;
  /** Files that replace others, if a tool's code is inserted. */
  rewritten?: readonly RewrittenFile[] | undefined;
  memoryLimit: number;
  noReach?: boolean | undefined;
  /** Sentences about code that ran without the tool's code. */
  notCounted?: readonly string[] | undefined;
}

/** Data that a process has left at its end or at a dump. */
export interface LeftBehind {
  memory: SharedArrayBuffer;
  /** Undefined if accesses are not counted, or the counters are not shared. */
  counters?: GranuleCounters | undefined;
  names?: ReadonlyMap<number, string> | undefined;
  samples?: CpuSamples | undefined;
  /** Path of an unrecorded program that the process has executed. */
  replacedBy?: string | undefined;
  workingSet?: NativeWorkingSetSession | undefined;
  /** Path of the file with the counts of inserted code, if it is shared. */
  counts?: string | undefined;
  reach?: KnownReach | undefined;
  /** Last content of /proc/PID/maps. */
  maps?: string | undefined;
  /** Last content of /proc/PID/status with memory figures; empty if there is none. */
  status?: string | undefined;
  /** Page faults of its ended child processes. */
  childFaults?: number | undefined;
}

export interface NativeRecord {
  run: Run;
  files: ProfileFile[];
  /** Files whose rewritten code the process has read as data. */
  readAsData: readonly RewrittenFile[];
}
