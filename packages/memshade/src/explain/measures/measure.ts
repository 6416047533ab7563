import type { Figure } from "../../profile/model/bound.ts";
import type { GroupBy } from "../analyses/groups.ts";
import type { RecordedTools } from "../analyses/recorded-tools.ts";
import type { Column, MeasuredStacks, MeasuredTool, RecordingTool, RowGroups } from "./measured-stacks.ts";

/** Profiles of one run that have measures. */
export type MeasuredProfiles = Pick<RecordedTools, MeasuredTool>;

/** "part" is 0…1; "clock" is in units of the heap's clock. */
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

/** A word that people know a measure by in some views, because it means something else in others. */
export interface ViewAlias {
  readonly word: string;
  readonly in: readonly MeasureView[];
  /** The ranking begins with the smallest amount. */
  readonly isReversed?: true;
}

/** One measure's sum by another's; `isRest`: what is missing to 1. */
export interface Ratio {
  readonly of: string;
  readonly by: string;
  readonly isRest?: true;
}

/** A quantity that call paths have. Every view of a run is made of such declarations, and it is declared nowhere else. */
export interface Measure {
  /** The word for it on every command line, in JSON and in the page's address. */
  readonly id: string;
  /** Older words that are understood too: in all views, or in those that are named. */
  readonly aliases?: readonly (string | ViewAlias)[] | undefined;
  readonly tool: MeasuredTool;
  /** It is among the totals of a comparison, and the rankings that a report names. */
  readonly isMain?: true | undefined;
  readonly unit: MeasureUnit;
  /** Of a column of a table. */
  readonly head: string;
  /** In the middle of a sentence: "bytes live at the end". */
  readonly title: string;
  /** One sentence without its end, for lists of measures and the glossary. */
  readonly meaning: string;
  /** The word of the glossary that explains it. */
  readonly explainedBy: string;
  /** Which figures of a profile it is made of: where these are no exact counts, it is none. */
  readonly figures: readonly Figure[];
  /** What a run needs to have it, as the end of a sentence. */
  readonly needs: string;
  /** What only its places need beside that. */
  readonly needsForPlaces?: string | undefined;
  /** The measure that it is a part of; its own id for the part of the whole run. Undefined: none. */
  readonly partOf?: string | undefined;
  readonly isEstimate?: true | undefined;
  /** "sum": amounts of places add up. "most": of several, the largest counts. */
  readonly combine: "sum" | "most" | Ratio;
  /** What profile formats call its samples, with what is done with the bytes where they have a word for that. */
  readonly sample?: SampleType | undefined;
  /** Measures that stand beside it in rankings. */
  readonly beside?: readonly string[] | undefined;
  /** Why two runs cannot be compared by it; undefined: they can. */
  readonly differs?: ((older: MeasuredProfiles, newer: MeasuredProfiles) => string | undefined) | undefined;
  /** Why a run that was recorded as it has to be does not have it all the same; undefined: it has. */
  readonly unknown?: ((profiles: MeasuredProfiles) => string | undefined) | undefined;
  /** Sentence: what the amounts of this run are of; undefined where the title says it. */
  readonly remark?: ((profiles: MeasuredProfiles) => string | undefined) | undefined;
  /** Undefined where the run has not recorded it. Of ratios none is asked for. */
  readonly column: (profiles: MeasuredProfiles) => Column | undefined;
}

export interface SampleType {
  /** `inuse_space` */
  readonly type: string;
  /** What is done with the bytes, and the measure that counts how often: for formats that have both. */
  readonly done?: { readonly verb: string; readonly count: string; readonly counted: string } | undefined;
}

/** What a tool brings so that its profile means something: its measures, and its profile as rows. */
export interface ToolMeasures {
  readonly tool: MeasuredTool;
  /** Before a list of its words: "working set". */
  readonly name: string;
  /** In the middle of a sentence: "the working set". */
  readonly whole: string;
  /** The tool that a run is recorded with to have it. */
  readonly recordedWith: RecordingTool;
  readonly measures: readonly Measure[];
  /** Those that are looked at first where nobody asks: the first of them that there is any of. */
  readonly first: readonly string[];
  /** Undefined where the run has no profile of the tool. */
  readonly stacks: (profiles: MeasuredProfiles) => MeasuredStacks | undefined;
  /** Its places, where these are not what a reader can tell rows from each other by. */
  readonly groups?: ((profiles: MeasuredProfiles, by: GroupBy) => RowGroups | undefined) | undefined;
  /** Sentences: what is not in its figures of a run. */
  readonly gaps: (profiles: MeasuredProfiles) => readonly string[];
}

/** A declaration as a tool writes it: what all of its measures have in common is said once. */
export type Declared<Profile> = Omit<Measure, "tool" | "column" | "combine" | "needs"> &
  Partial<Pick<Measure, "combine" | "needs">> & {
    readonly column?: (profile: Profile) => Column | undefined;
  };

/** The measures of a tool. Amounts are sums unless something else is said. */
export function measuresOf<Tool extends MeasuredTool>(
  tool: Tool,
  common: Pick<Measure, "needs"> & Partial<Pick<Measure, "unknown">>,
  declared: readonly Declared<NonNullable<MeasuredProfiles[Tool]>>[],
): readonly Measure[] {
  return declared.map(({ column, ...measure }) => ({
    combine: "sum",
    ...common,
    ...measure,
    tool,
    column: (profiles) => {
      const profile = profiles[tool];
      return profile === undefined ? undefined : column?.(profile);
    },
  }));
}

/** Calls a function once for each object, whose answers are kept as long as the object is. */
export function once<Key extends object, Value>(of: (key: Key) => Value): (key: Key) => Value {
  const known = new WeakMap<Key, { readonly value: Value }>();
  return (key) => {
    let found = known.get(key);
    if (found === undefined) {
      found = { value: of(key) };
      known.set(key, found);
    }
    return found.value;
  };
}
