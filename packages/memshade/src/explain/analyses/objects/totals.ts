import type { ObjectsProfile } from "../../../profile/model/objects.ts";

/** What all modules of a run have allocated; bytes by the model of sizes. */
export function objectTotals({ parts }: ObjectsProfile): {
  objects: number;
  bytes: number;
  types: number;
  sites: number;
} {
  const types = parts.flatMap((part) => part.types).filter(({ objects }) => objects > 0);
  return {
    objects: types.reduce((sum, { objects }) => sum + objects, 0),
    bytes: types.reduce((sum, { bytes }) => sum + bytes, 0),
    types: types.length,
    sites: parts.reduce((sum, { sites }) => sum + sites.length, 0),
  };
}
