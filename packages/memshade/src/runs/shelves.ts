import type { RecordedTools } from "../explain/analyses/recorded-tools.ts";
import { HEAP_MEASURES } from "../explain/measures/heap.ts";
import type { RecordingTool } from "../explain/measures/measured-stacks.ts";
import { OBJECT_MEASURES } from "../explain/measures/objects.ts";
import { WASTE_MEASURES } from "../explain/measures/waste.ts";
import { WORKING_SET_MEASURES } from "../explain/measures/working-set.ts";
import { UserError } from "../ground/bytes/errors.ts";
import type { CpuProfile } from "../profile/model/cpu.ts";
import { hasCpu, loadCpu } from "./cpu.ts";
import { hasHeap, loadHeap } from "./heap.ts";
import { OBJECTS_FILE } from "./objects.ts";
import type { OriginalPlaces } from "./run-symbols.ts";
import { loadStatics } from "./statics.ts";
import type { OwnCode } from "./suppressions.ts";
import { hasWaste, loadWaste } from "./waste.ts";
import { WORKING_SET_FILE } from "./working-set.ts";

/** A tool with a part of reports. */
export type ReportedTool = RecordingTool | "cpu";

/** Functions to find, read and show a tool's part of a run. Its measures are declared in explain/measures. */
export interface ToolShelf {
  /** Name within a sentence: "the heap". */
  readonly whole: string;
  readonly option: string;
  /** True if a run has it. `input`: the run's folder, its `run.json` or a file of the tool. */
  readonly isIn: (input: string) => boolean;
  /**
   * Readers of the tool's parts; undefined for a part that a run need not have.
   *
   * @throws UserError in one line if a required part is missing, or a part is damaged
   */
  readonly parts: {
    readonly [Part in keyof RecordedTools]?: (
      input: string,
      places: OriginalPlaces & OwnCode,
    ) => RecordedTools[Part] | Promise<RecordedTools[Part]>;
  };
  /** Reason why a run may not have the part, as the end of a sentence. */
  readonly absent?: string | undefined;
  /** Returns the tool's call paths if they are samples, which have no declared measures. */
  readonly samples?:
    | ((run: RecordedTools) => Pick<CpuProfile, "samples" | "notTracked"> | undefined)
    | undefined;
}

export const SHELVES: Readonly<Record<ReportedTool, ToolShelf>> = {
  heap: {
    whole: HEAP_MEASURES.whole,
    option: "--tool heap",
    isIn: hasHeap,
    parts: {
      heap: async (input, places) => (await loadHeap(input, places)).profile,
      statics: loadStatics,
    },
    absent: "that is recorded with --tool heap, of modules whose data has fixed addresses",
  },
  waste: {
    whole: WASTE_MEASURES.whole,
    option: "--tool waste",
    isIn: hasWaste,
    parts: {
      waste: (input, places) => {
        const waste = loadWaste(input, places);
        if (waste !== undefined) return waste;
        throw new UserError(`--tool waste needs a run that was recorded with it: ${input} is not such a run`);
      },
    },
  },
  workingset: {
    whole: WORKING_SET_MEASURES.whole,
    option: "--tool workingset",
    isIn: (input) => WORKING_SET_FILE.isIn(input),
    parts: { workingset: (input, places) => WORKING_SET_FILE.load(input, places) },
  },
  objects: {
    whole: OBJECT_MEASURES.whole,
    option: "--tool objects",
    isIn: (input) => OBJECTS_FILE.isIn(input),
    parts: { objects: (input, places) => OBJECTS_FILE.load(input, places) },
  },
  cpu: {
    whole: "call paths by CPU time",
    option: "--sample",
    isIn: hasCpu,
    parts: { cpu: loadCpu },
    samples: ({ cpu }) => cpu,
  },
};
