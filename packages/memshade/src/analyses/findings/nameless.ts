import type { HeapProfile } from "../../model/heap-profile.ts";
import type { IndexIntoContextTable } from "../../model/indices.ts";
import { siteFrameOfContext } from "../../model/site-frame.ts";
import { heapFrame } from "./place.ts";

/** Whether no place of a run that allocates has a name or a line: findings need one, so that none says nothing of the program. */
export function isNameless(profile: HeapProfile): boolean {
  const { length, site } = profile.contexts;
  // Of profiles without what a run knows, no finding is told for other reasons too.
  if (site === undefined) return false;
  for (let context = 0; context < length; context++) {
    const frame = siteFrameOfContext(profile, context as IndexIntoContextTable);
    if (frame === undefined) continue;
    const { function: name, file } = heapFrame(profile, frame);
    if (name !== undefined || file !== undefined) return false;
  }
  return length > 0;
}
