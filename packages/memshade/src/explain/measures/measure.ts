import { entryOf } from "../../ground/bytes/entries.ts";
import type { Figure } from "../../profile/model/bound.ts";
import type { GroupBy } from "../analyses/groups.ts";
import type { RecordedTools } from "../analyses/recorded-tools.ts";
import type { Column, MeasuredStacks, MeasuredTool, RecordingTool, RowGroups } from "./measured-stacks.ts";

export type MeasuredProfiles = Pick<RecordedTools, MeasuredTool>;

/** Unit of amounts. "part" is 0…1; "clock" is in units of the heap's clock. */
export type MeasureUnit =
  | "bytes"
  | "blocks"
  | "accesses"
  | "stores"
  | "loads"
  | "misses"
  | "references"
  | "intervals"
  | "objects"
  | "accessesPerByte"
  | "clock"
  | "part";

export type MeasureView = "top" | "tree" | "check" | "diff" | "export" | "trend";

export interface ViewAlias {
  readonly word: string;
  readonly in: readonly MeasureView[];
  /** True if the ranking begins with the smallest amount. */
  readonly isReversed?: true;
}

/** Quotient of two measures' sums; with `isRest`, its difference to 1. */
export interface Ratio {
  readonly of: string;
  readonly by: string;
  readonly isRest?: true;
}

/** Declaration of a quantity of call paths. All views are derived from these declarations. */
export interface Measure {
  /** Word on every command line, in JSON and in the page's address. */
  readonly id: string;
  /** Older words that are also accepted: in all views, or in the named ones. */
  readonly aliases?: readonly (string | ViewAlias)[] | undefined;
  readonly tool: MeasuredTool;
  /** True for measures in the totals of comparisons and in the rankings that a report mentions. */
  readonly isMain?: true | undefined;
  readonly unit: MeasureUnit;
  /** Column head of a table. */
  readonly head: string;
  /** Title inside a sentence: "bytes live at the end". */
  readonly title: string;
  /** Sentence without its end, for lists of measures and the glossary. */
  readonly meaning: string;
  readonly explainedBy: string;
  /** Figures of a profile that the measure is derived from; it is inexact if they are. */
  readonly figures: readonly Figure[];
  /** Required recording, as the end of a sentence. */
  readonly needs: string;
  /** Additional requirement of its places. */
  readonly needsForPlaces?: string | undefined;
  /** Measure that it is a part of; its own id for the part of the whole run. Undefined: none. */
  readonly partOf?: string | undefined;
  readonly isEstimate?: true | undefined;
  /** Combination of places. "sum": amounts add up. "most": the largest counts. */
  readonly combine: "sum" | "most" | Ratio;
  /** Sample type in profile formats, with a verb for the bytes if the format has one. */
  readonly sample?: SampleType | undefined;
  readonly beside?: readonly string[] | undefined;
  /** Returns why two runs cannot be compared by it; undefined if they can. */
  readonly differs?: ((older: MeasuredProfiles, newer: MeasuredProfiles) => string | undefined) | undefined;
  /** Returns why a correctly recorded run lacks it; undefined if it has it. */
  readonly unknown?: ((profiles: MeasuredProfiles) => string | undefined) | undefined;
  /** Returns a sentence about the amounts of this run; undefined if the title suffices. */
  readonly remark?: ((profiles: MeasuredProfiles) => string | undefined) | undefined;
  /** Returns undefined if the run has not recorded it. Not called for ratios. */
  readonly column: (profiles: MeasuredProfiles) => Column | undefined;
}

export interface SampleType {
  readonly type: string;
  /** Verb for the bytes, and the measure of the number of operations, for formats with both. */
  readonly done?: { readonly verb: string; readonly count: string; readonly counted: string } | undefined;
}

/** Declarations of a tool: its measures, and its profile as rows. */
export interface ToolMeasures {
  readonly tool: MeasuredTool;
  /** Name before a list of its words: "working set". */
  readonly name: string;
  readonly whole: string;
  readonly recordedWith: RecordingTool;
  readonly measures: readonly Measure[];
  /** Ids of the default measures; the first one that is not 0 is used. */
  readonly first: readonly string[];
  readonly stacks: (profiles: MeasuredProfiles) => MeasuredStacks | undefined;
  /** Returns its places, if these are not the groups that a reader would distinguish. */
  readonly groups?: ((profiles: MeasuredProfiles, by: GroupBy) => RowGroups | undefined) | undefined;
  /** Returns sentences about facts that its figures do not cover. */
  readonly gaps: (profiles: MeasuredProfiles) => readonly string[];
}

/**
 * Declaration in a tool's file, without the members that all of its measures share. The word is also the head and the
 * glossary's word, unless they are declared.
 */
export type Declared<Profile> = Omit<
  Measure,
  "tool" | "column" | "combine" | "needs" | "head" | "explainedBy"
> &
  Partial<Pick<Measure, "combine" | "needs" | "head" | "explainedBy">> & {
    readonly column?: (profile: Profile) => Column | undefined;
  };

/** Completes the measures of a tool. Amounts are sums by default. */
export function measuresOf<Tool extends MeasuredTool>(
  tool: Tool,
  common: Pick<Measure, "needs"> & Partial<Pick<Measure, "unknown">>,
  declared: readonly Declared<NonNullable<MeasuredProfiles[Tool]>>[],
): readonly Measure[] {
  return declared.map(({ column, ...measure }) => ({
    combine: "sum",
    head: measure.id.toUpperCase().replaceAll("-", " "),
    explainedBy: measure.id,
    ...common,
    ...measure,
    tool,
    column: (profiles) => {
      const profile = profiles[tool];
      return profile === undefined ? undefined : column?.(profile);
    },
  }));
}

/** Caches a function's result for each object, for the object's lifetime. */
export function once<Key extends object, Value>(compute: (key: Key) => Value): (key: Key) => Value {
  const cache = new WeakMap<Key, { readonly value: Value }>();
  return (key) => {
    const found = entryOf(cache, key, () => ({ value: compute(key) }));
    return found.value;
  };
}
