import type { CpuSamples } from "../../../profile/model/cpu.ts";
import type { Run, RunChild } from "../../../profile/model/run.ts";
import type { GranuleCounters } from "../../tools/heap/read/granule-counters.ts";
import type { KnownReach } from "../../tools/heap/read/reach/apply-reach.ts";
import type { ProfileFile } from "../../tools/session.ts";
import type { InsertedTool } from "../native-tool.ts";
import type { RewrittenFile } from "../rewritten/rewrite-files.ts";
import type { NativeWorkingSetSession } from "../tools/working-set/read/native-session.ts";

/** What was started. */
export interface RecordedProgram {
  /** The command as it was typed. */
  command: readonly string[];
  /** Short name. */
  program: string;
  /** Path of the file that ran. */
  file: string;
  /** Sentences about what of it was not seen. */
  notes: readonly string[];
  /** Path of what has memshade's code. */
  image: string;
  /** No code can be inserted into it. */
  isLeftAlone?: boolean | undefined;
  /** The tool whose code was inserted. */
  tool?: InsertedTool | undefined;
}

/** How it was recorded. */
export interface RecordingOptions {
  /** Unit of lifetimes: allocations made so far, or milliseconds. */
  clock: "virtual" | "wall";
  /** What its allocator hands out was recorded. */
  blocks: boolean;
  /** Memory that it maps itself was recorded, too. */
  mappings: boolean;
  /** Processes that it has started, if they were recorded. */
  children?: readonly RunChild[] | undefined;
  /** Files that stood in the place of others, if a tool's code was inserted. */
  rewritten?: readonly RewrittenFile[] | undefined;
  /** What recording may take of memory, bytes. */
  memoryLimit: number;
  /** It was not to be looked which blocks can still be reached. */
  noReach?: boolean | undefined;
  /** Sentences about what ran without that code. */
  notCounted?: readonly string[] | undefined;
}

/** What a process has left, or has so far. */
export interface LeftBehind {
  memory: SharedArrayBuffer;
  /** Of accesses; absent where they were not counted, or nobody else sees the counters. */
  counters?: GranuleCounters | undefined;
  /** Of threads, by their ids. */
  names?: ReadonlyMap<number, string> | undefined;
  /** Absent where none were to be taken. */
  samples?: CpuSamples | undefined;
  /** Path of the program that the process has replaced itself by, which is not recorded. */
  replacedBy?: string | undefined;
  /** Absent where lines were not marked. */
  workingSet?: NativeWorkingSetSession | undefined;
  /** Path of the file with what inserted code has counted; there is none where that is not shared. */
  counts?: string | undefined;
  /** Which of its live blocks can still be reached; absent where nobody asked. */
  reach?: KnownReach | undefined;
  /** What it had mapped when somebody looked last, as the kernel tells it. */
  maps?: string | undefined;
  /** What the kernel said last of its memory; empty: nothing. */
  status?: string | undefined;
}

/** What the run folder gets. */
export interface NativeRecord {
  run: Run;
  files: ProfileFile[];
  /** Files whose code the process has read as data, with something else in it than their own. */
  readAsData: readonly RewrittenFile[];
}
