import type { ModuleObjects, ObjectSite } from "../../model/objects/objects.ts";
import type { StackFrame } from "../../model/working-set/working-set.ts";

/** What a site made, as far as it goes to one call path. */
export interface SiteShare {
  readonly site: ObjectSite;
  /** Innermost first; empty where nothing is known. */
  readonly frames: readonly StackFrame[];
  /** By the model of sizes, and exact for the site as a whole. */
  readonly bytes: number;
  readonly objects: number;
  /** Bytes in use, an estimate. */
  readonly live: number;
}

/** What sites made is shared out among the callers of objects that were followed as these are; sites without any stand alone. */
export function siteShares({ samples, sites, stacks }: ModuleObjects): SiteShare[] {
  const shares = sites.map(() => new Map<number, { bytes: number; live: number }>());
  samples.site.forEach((site, sample) => {
    const stack = samples.stack[sample]!;
    const share = shares[site]!.get(stack) ?? { bytes: 0, live: 0 };
    shares[site]!.set(stack, share);
    const bytes = samples.size[sample]! * samples.weight[sample]!;
    share.bytes += bytes;
    if (samples.death[sample]! < 0 && !samples.unknown[sample]!) share.live += bytes;
  });
  return sites.flatMap((site, index): SiteShare[] => {
    const { frame, bytes, objects } = site;
    const own = frame === undefined ? [] : [frame];
    const all = [...shares[index]!.values()].reduce((sum, share) => sum + share.bytes, 0);
    if (all === 0) return [{ site, frames: own, bytes, objects, live: 0 }];
    return [...shares[index]!].map(([stack, share]) => ({
      ...{ site, frames: stack < 0 ? own : stacks[stack]!, live: share.live },
      bytes: (bytes * share.bytes) / all,
      objects: (objects * share.bytes) / all,
    }));
  });
}
