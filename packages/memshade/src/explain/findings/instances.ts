import { formatCount } from "../../profile/model/format.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import type { RunInstances } from "../../profile/model/run.ts";
import { type FindingKind, type FindingPlace, type Found, LEAST_PART } from "./finding-kind.ts";
import { hostPlace, placeKey } from "./places.ts";

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
    "Instances of one module, each with a memory of its own, that one line makes again and again and that are never dropped: an instance goes " +
    "when no function of it can be reached any more.",
  advice:
    "Drop them where they are done, or use one instance again: for each task, or a few of them by turns.",
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
    const place = hostPlace(frames);
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
