import type { BlockType } from "../../profile/model/block-type.ts";
import type { Bound } from "../../profile/model/bound.ts";
import type { HeapTool, RunEnd, RunModule, ToolDescription } from "../../profile/model/run.ts";
import type { RunPart, RunPartFile } from "./assemble-run.ts";
import type { DescribeHostFrame, ToldStacks } from "./heap/read/host-callers.ts";
import type { KnownReach, LookThrough } from "./heap/read/reach/apply-reach.ts";
import type { InstrumentedInfo, ToolName } from "./options.ts";
import type { ModuleRuns } from "./waste/read/site-runs.ts";

/** A place in the source, as far as it is known. */
export interface SourcePlace {
  readonly function?: string | undefined;
  readonly file?: string | undefined;
  /** 0: not known. */
  readonly line: number;
  /** Its function is declared to give memory of no type in particular to whoever says how much. */
  readonly handsOutMemory?: boolean | undefined;
  /** The line is that of an earlier place: this one has none. */
  readonly approximate?: boolean | undefined;
  readonly column?: number | undefined;
  /** First line of the function; 0: not known. */
  readonly startLine?: number | undefined;
  /** The functions that the place is inlined into, the innermost first. */
  readonly outer?: readonly SourcePlace[] | undefined;
}

/** Finds the places of a module's code offsets; undefined for a module without debug information. */
export type LinesOf = (original: Uint8Array) => ((offset: number) => SourcePlace | undefined) | undefined;

/** The type of blocks that the call at a code offset allocates, by their smallest and largest size. */
export type TypeAt = (offset: number, smallest: number, largest: number) => BlockType | undefined;

/** Finds the types of a module's blocks; undefined for a module without debug information. */
export type TypesOf = (original: Uint8Array) => TypeAt | undefined;

/** An instance of a run, as the recorder and the sessions of the tools name it. */
export interface InstanceHandle {
  readonly number: number;
  /** Index of its module in the run. */
  readonly module: number;
  /** Number of the thread that runs it. Default 0. */
  readonly thread?: number | undefined;
  /** Its place among the instances that share its tables. */
  readonly place?: SharedPlace | undefined;
}

/** Where an instance stands among those that share its tables. */
export interface SharedPlace {
  /** Names the tables. */
  group: string;
  /** Its number among the instances that share them. */
  local: number;
}

/** A module of a run. */
export interface RecordedModule {
  info: InstrumentedInfo;
  readonly original: () => Uint8Array;
  readonly path: string | null;
  /** Instances so far, those that are gone included. */
  instances: number;
}

/** What a tool needs to know of the run to describe what it recorded. */
export interface RunFacts {
  /** The program and its arguments. */
  command: readonly string[];
  /** The modules of the run, with what tools before this one found in them; `InstanceHandle.module` is an index into them. */
  modules: readonly RunModule[];
  /** The same modules as they were recorded. */
  recorded: readonly RecordedModule[];
  /** Undefined where nobody can read debug information. */
  linesOf: LinesOf | undefined;
  typesOf?: TypesOf | undefined;
  describeFrame?: DescribeHostFrame | undefined;
}

/** What one tool recorded up to a moment. */
export interface ToolSnapshot {
  /** How it measured: becomes `tools.<tool>` of run.json. */
  description: ToolDescription | HeapTool;
  /** Its files in the run folder, under their members of `files`. */
  files: readonly RunPartFile[];
  /** Shadow memory and tables that it touched, bytes, about. */
  shadowBytes: number;
  /** The members of run.json that only a tool with blocks has. */
  heap?: RunPart["heap"];
  /** What it found in each module. */
  found?: readonly Partial<RunModule>[];
  /** Sentences: what the program did not get because of the tool. What other tools recorded is of such a run, too. */
  keptBack?: string[];
  /** Which figures are no exact counts. */
  bounds?: Bound[];
  /** Sentences that whoever ran the program should see at once: what the tool kept from working. */
  warnings?: string[];
  /** How often what is in the modules ran, for later runs of them. */
  siteRuns?: ModuleRuns[];
}

/** Everything one tool recorded in one run, read from the tool's own memories. */
export interface ToolSession {
  /** Names its memories, and its description in `tools` of run.json. */
  readonly tool: ToolName;
  /**
   * Adds an instance that has a memory of the tool. `info.toolLayouts[tool]` says what lies where in it, and in `tables`,
   * its further memories.
   */
  addInstance(
    handle: InstanceHandle,
    memory: WebAssembly.Memory,
    info: InstrumentedInfo,
    original: Uint8Array | (() => Uint8Array),
    tables: readonly WebAssembly.Memory[],
  ): void;
  /** A thread tells of stacks of its own that have entered instances. */
  learnStacks?(thread: number, told: ToldStacks): void;
  /** The instance is gone: its figures are kept, its memory is not. Unknown handles mean nothing. */
  releaseInstance(handle: InstanceHandle): void;
  /** Takes over what an instance's full tables hold; called in the instance's own thread, from inside it. */
  flush?(handle: InstanceHandle): void;
  /** Looks at counters some times a second while programs run in other threads; `isLate`: the last time was longer ago. */
  watch?(isLate: boolean): void;
  /** Takes what was found out about an instance's live blocks, for the next profile or its end. */
  setReach?(handle: InstanceHandle, reach: KnownReach | undefined): void;
  /** Forgets what was found out for a profile that is taken. */
  forgetReach?(): void;
  /** Sets how that is found out whenever a profile is taken. */
  setLook?(handle: InstanceHandle, look: LookThrough): void;
  /** Whether there was nothing for the tool in any module; absent: it has a part in every run. */
  readonly isEmpty?: boolean;
  /** Forgets what was counted so far. */
  reset(): void;
  /** The figures up to now. Changes nothing, so that it can be taken while the program runs. */
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
