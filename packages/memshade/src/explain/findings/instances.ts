import { formatCount } from "../../profile/model/format.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import type { RunHostFrame, RunInstances } from "../../profile/model/run.ts";
import { libraryOf } from "../analyses/frames/libraries.ts";
import { fromOwn } from "../analyses/frames/own-place.ts";
import {
  type FindingKind,
  type FindingPlace,
  type Found,
  LEAST_PART,
  type PlaceFrame,
} from "./finding-kind.ts";
import { placeKey } from "./places.ts";

/** Many instances of one module that one line has made and that are all there. The amount is the memory of all but one of them. */
export interface InstancesFinding extends Found<"instances", "heap"> {
  /** Name of the module. */
  readonly module: string;
  readonly kept: number;
  readonly made: number;
}

/**
 * Instances of one line in one thread. A pool has one for each processor, or for each call that waits: some of either. What is made for each
 * file, user or request is more.
 */
const LEAST_KEPT = 32;
/** Of those that the line makes. Who drops them one after the other keeps the last few. */
const LEAST_SHARE = 9 / 10;

export const instances: FindingKind<InstancesFinding> = {
  kind: "instances",
  meaning:
    "Instances of one module that one line makes again and again and that are never dropped. Each has a memory of its own. The engine frees " +
    "an instance when no function of it can be reached any more.",
  advice: "Use one instance for all tasks, or drop the references to an instance when its task is done.",
  more: "guides/npm-package.md",
  sources: ["heap"],
  find: ({ heap }) => (heap === undefined ? [] : instancesFindings(heap)),
  leastPart: LEAST_PART,
  sums: ["kept", "made"],
  sentence: ({ kept, module }) => ({
    before: `in ${formatCount(kept)} instances of ${module} by`,
    after: "are kept",
    short: `in ${formatCount(kept)} by`,
  }),
  whole: { short: "of memories", long: "of the memories of all instances that are kept" },
  weight: "peak",
  treeWeights: ["peak", "bytes"],
};

/** What stacks of one thread have made at one line. */
type OfLine = Omit<RunInstances, "frames" | "thread"> & {
  readonly module: string;
  readonly place: FindingPlace;
};

function instancesFindings({ modules }: HeapProfile): InstancesFinding[] {
  const all = modules.reduce(
    (sum, { instancesBy = [] }) => instancesBy.reduce((total, { keptBytes }) => total + keptBytes, sum),
    0,
  );
  return modules
    .flatMap(({ name, instancesBy = [] }) => byLine(name, instancesBy))
    .filter(({ kept, made, keptBytes }) => kept >= LEAST_KEPT && kept >= made * LEAST_SHARE && keptBytes > 0)
    .map(({ module, place, made, kept, keptBytes }) => {
      const amount = Math.round(keptBytes - keptBytes / kept);
      return {
        kind: "instances",
        tool: "heap",
        place,
        amount,
        unit: "bytes",
        part: amount / all,
        module,
        kept,
        made,
      };
    });
}

function byLine(module: string, groups: readonly RunInstances[]): OfLine[] {
  const found = new Map<string, OfLine>();
  for (const { frames, thread, made, kept, keptBytes } of groups) {
    const place = placeOf(frames);
    if (place === undefined) continue;
    const key = `${thread} ${placeKey(place)}`;
    const known = found.get(key) ?? { module, place, made: 0, kept: 0, keptBytes: 0 };
    found.set(key, {
      ...known,
      made: known.made + made,
      kept: known.kept + kept,
      keptBytes: known.keptBytes + keptBytes,
    });
  }
  return [...found.values()];
}

/**
 * The program's own frame and its callers. Where a package waits in ways that the engine's stacks do not tell, none of the program is
 * on them, and it is the package's.
 */
function placeOf(frames: readonly RunHostFrame[]): FindingPlace | undefined {
  const { stack, via } = fromOwn(
    frames.map((frame) => {
      const shown = shownFrame(frame);
      const host = frame.is ?? (frame.glue === undefined ? "script" : (`glue: ${frame.glue}` as const));
      return { shown, library: libraryOf({ function: shown.function, file: shown.file, host }) };
    }),
  );
  const [own] = stack;
  if (own?.shown.file === undefined) return undefined;
  return { path: stack.map(({ shown }) => shown), ...(via === undefined ? {} : { via: via.shown }) };
}

/** A frame as its author wrote it. */
function shownFrame({ name, file, line, source }: RunHostFrame): PlaceFrame {
  return { function: source?.name ?? name, file: source?.file ?? file, line: source?.line ?? line };
}
