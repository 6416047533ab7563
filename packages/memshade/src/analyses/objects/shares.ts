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

/** What sites made is shared out among the callers that were noted for their objects, as these are; sites without any stand alone. */
export function siteShares({ samples, sites, stacks }: ModuleObjects): SiteShare[] {
  const noted = sites.map(() => new Map<number, { bytes: number; live: number }>());
  /** Bytes in use of objects whose callers were not noted. */
  const others = new Float64Array(sites.length);
  samples.site.forEach((site, sample) => {
    const stack = samples.stack[sample]!;
    const bytes = samples.size[sample]! * samples.weight[sample]!;
    const live = samples.death[sample]! < 0 && !samples.unknown[sample]! ? bytes : 0;
    if (stack < 0) {
      others[site]! += live;
      return;
    }
    const share = noted[site]!.get(stack) ?? { bytes: 0, live: 0 };
    noted[site]!.set(stack, share);
    share.bytes += bytes;
    share.live += live;
  });
  return sites.flatMap((site, index): SiteShare[] => {
    const { frame, bytes, objects } = site;
    const all = [...noted[index]!.values()].reduce((sum, share) => sum + share.bytes, 0);
    if (all === 0)
      return [{ site, frames: frame === undefined ? [] : [frame], bytes, objects, live: others[index]! }];
    return [...noted[index]!].map(([stack, share]) => {
      const part = share.bytes / all;
      return {
        ...{ site, frames: stacks[stack]!, bytes: bytes * part, objects: objects * part },
        live: share.live + others[index]! * part,
      };
    });
  });
}
