import type { BlockType } from "../../profile/model/block-type.ts";
import type { Bound } from "../../profile/model/bound.ts";
import type { HeapTool, RunEnd, RunModule, ToolDescription } from "../../profile/model/run.ts";
import type { RunPart, RunPartFile } from "./assemble-run.ts";
import type { DescribeHostFrame, ToldStacks } from "./heap/read/host-callers.ts";
import type { KnownReach, ReachSearch } from "./heap/read/reach/apply-reach.ts";
import type { InstrumentedInfo, ToolName } from "./options.ts";
import type { ModuleRuns } from "./waste/read/site-runs.ts";

/** A place in the source, as far as it is known. */
export interface SourcePlace {
  readonly function?: string | undefined;
  readonly file?: string | undefined;
  /** 0 if unknown. */
  readonly line: number;
  /** True if its function is declared to return memory of no particular type, in a size that the caller chooses. */
  readonly handsOutMemory?: boolean | undefined;
  /** True if the place has no line of its own: the line is that of an earlier place. */
  readonly approximate?: boolean | undefined;
  readonly column?: number | undefined;
  /** First line of the function; 0 if unknown. */
  readonly startLine?: number | undefined;
  /** Functions into which the place is inlined, innermost first. */
  readonly outer?: readonly SourcePlace[] | undefined;
}

/** Returns a function from a module's code offset to its place; undefined for a module without debug information. */
export type LinesOf = (original: Uint8Array) => ((offset: number) => SourcePlace | undefined) | undefined;

/** Returns the type of blocks that the call at a code offset allocates. `smallest`, `largest`: sizes of these blocks. */
export type TypeAt = (offset: number, smallest: number, largest: number) => BlockType | undefined;

/** Returns the function for a module's block types; undefined for a module without debug information. */
export type TypesOf = (original: Uint8Array) => TypeAt | undefined;

/** An instance of a run, as the recorder and the sessions of the tools identify it. */
export interface InstanceHandle {
  readonly number: number;
  /** Index of its module in the run. */
  readonly module: number;
  /** Number of the thread that runs it. Default 0. */
  readonly thread?: number | undefined;
  /** Position among the instances that share its tables. */
  readonly place?: SharedPlace | undefined;
}

/** Position of an instance among those that share its tables. */
export interface SharedPlace {
  /** Identifies the tables. */
  group: string;
  /** Number of the instance among those that share the tables. */
  local: number;
}

/** A module of a run. */
export interface RecordedModule {
  info: InstrumentedInfo;
  readonly original: () => Uint8Array;
  readonly path: string | null;
  /** Number of instances so far, including those that are gone. */
  instances: number;
}

/** Facts about the run that a tool needs to describe its recording. */
export interface RunFacts {
  /** The program and its arguments. */
  command: readonly string[];
  /** Modules of the run, with the results of earlier tools in them. `InstanceHandle.module` is an index into them. */
  modules: readonly RunModule[];
  /** The same modules as they were recorded. */
  recorded: readonly RecordedModule[];
  /** Undefined if debug information cannot be read. */
  linesOf: LinesOf | undefined;
  typesOf?: TypesOf | undefined;
  describeFrame?: DescribeHostFrame | undefined;
}

/** Results of one tool up to a moment. */
export interface ToolSnapshot {
  /** Method and options of the tool: becomes `tools.<tool>` of run.json. */
  description: ToolDescription | HeapTool;
  /** Files of the tool in the run folder, under their members of `files`. */
  files: readonly RunPartFile[];
  /** Shadow memory and tables that the tool touched, bytes, approximately. */
  shadowBytes: number;
  /** Members of run.json that only a tool with blocks has. */
  heap?: RunPart["heap"];
  /** Results of the tool for each module. */
  found?: readonly Partial<RunModule>[];
  /** Sentences about what the program did not get because of the tool. Figures of other tools are affected too. */
  keptBack?: string[];
  /** Figures that are not exact counts. */
  bounds?: Bound[];
  /** Sentences for the user at the end of the program: functions that the tool kept from working. */
  warnings?: string[];
  /** Execution counts of sites in the modules, for later runs of these modules. */
  siteRuns?: ModuleRuns[];
}

/** Recording of one tool in one run, read from the tool's own memories. */
export interface ToolSession {
  /** Identifies the tool's memories, and its description in `tools` of run.json. */
  readonly tool: ToolName;
  /**
   * Adds an instance that has a memory of the tool. `info.toolLayouts[tool]` is the layout of that memory and of `tables`,
   * the tool's further memories.
   */
  addInstance(
    handle: InstanceHandle,
    memory: WebAssembly.Memory,
    info: InstrumentedInfo,
    original: Uint8Array | (() => Uint8Array),
    tables: readonly WebAssembly.Memory[],
  ): void;
  /** Adds stacks of a thread that have entered instances. */
  learnStacks?(thread: number, told: ToldStacks): void;
  /** Releases an instance: its figures are kept, its memory is not. Unknown handles are ignored. */
  releaseInstance(handle: InstanceHandle): void;
  /** Takes over the contents of an instance's full tables. Called in the instance's own thread, from inside the instance. */
  flush?(handle: InstanceHandle): void;
  /** Reads counters several times a second while programs run in other threads. `isLate`: the last time was longer ago. */
  watch?(isLate: boolean): void;
  /** Sets the reachability of an instance's live blocks, for the next profile or the instance's end. */
  setReach?(handle: InstanceHandle, reach: KnownReach | undefined): void;
  /** Discards the reachability results of a profile that is taken. */
  forgetReach?(): void;
  /** Sets the function that finds reachable blocks whenever a profile is taken. */
  setReachSearch?(handle: InstanceHandle, search: ReachSearch): void;
  /** True if no module had anything for the tool. If absent, the tool has a part in every run. */
  readonly isEmpty?: boolean;
  /** Discards the counts so far. */
  reset(): void;
  /** Returns the figures so far. Changes nothing, so that it can be called while the program runs. */
  snapshot(end: RunEnd, facts: RunFacts): ToolSnapshot;
}

export function sentencesOfTool({ toolLayouts }: InstrumentedInfo, tool: ToolName): string[] {
  return String(toolLayouts?.[tool]?.notTracked ?? "")
    .split("\n")
    .filter((sentence) => sentence !== "");
}

/** Returns all sentences about code and data of a module that a tool does not see. */
export function sentencesOfModule(info: InstrumentedInfo): string[] {
  const ofTools = info.tools.flatMap((tool) => sentencesOfTool(info, tool));
  return [...info.notTracked, ...ofTools, ...Object.values(info.notRecorded ?? {})];
}
