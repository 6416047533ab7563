import { formatCount } from "../../profile/model/format.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import type { RunInstances } from "../../profile/model/run.ts";
import { type FindingKind, type FindingPlace, type Found, LEAST_PART } from "./finding-kind.ts";
import { hostPlace, placeKey } from "./places.ts";

/** Many instances of one module, made by one line and all kept. The amount is the memory of all but one. */
export interface InstancesFinding extends Found<"instances", "heap"> {
  /** Name of the module. */
  readonly module: string;
  /** Instances that are kept, and instances made there. */
  readonly kept: number;
  readonly made: number;
}

/**
 * Least number of kept instances per line and thread. A pool has one per processor or waiting call. Instances
 * per file, user or request are more.
 */
const LEAST_KEPT = 32;
/**
 * Least part of the instances that are kept: a program that drops them one by one keeps only the last few.
 */
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

/** Instances that one line made in one thread. */
type OfLine = Omit<RunInstances, "frames" | "thread"> & {
  readonly module: string;
  readonly place: FindingPlace;
};

function instancesFindings({ modules }: HeapProfile): InstancesFinding[] {
  const totalBytes = modules.reduce(
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
        part: amount / totalBytes,
        module,
        kept,
        made,
      };
    });
}

function byLine(module: string, groups: readonly RunInstances[]): OfLine[] {
  const found = new Map<string, OfLine>();
  for (const { frames, thread, made, kept, keptBytes } of groups) {
    const place = hostPlace(frames);
    if (place === undefined) continue;
    const key = `${thread} ${placeKey(place)}`;
    const ofLine = found.get(key) ?? { module, place, made: 0, kept: 0, keptBytes: 0 };
    found.set(key, {
      ...ofLine,
      made: ofLine.made + made,
      kept: ofLine.kept + kept,
      keptBytes: ofLine.keptBytes + keptBytes,
    });
  }
  return [...found.values()];
}
