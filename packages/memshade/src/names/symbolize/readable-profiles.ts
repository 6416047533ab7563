import type { ObjectsProfile } from "../../profile/model/objects.ts";
import { placesOf, type WasteFile, type WasteFrame, type WasteIp } from "../../profile/model/waste.ts";
import type { WorkingSetProfile } from "../../profile/model/working-set/working-set.ts";
import type { Demangle } from "./demangle.ts";

/** Demangles the names of C++ and Rust in a profile, in place. */
export function readableWaste(file: WasteFile, demangle: Demangle): WasteFile {
  const readable = (ip: WasteIp | WasteFrame): void => {
    if (ip.function !== undefined) ip.function = demangle(ip.function);
    if ("inlined" in ip) ip.inlined?.forEach(readable);
  };
  placesOf(file).forEach(readable);
  return file;
}

export function readableObjects(profile: ObjectsProfile, demangle: Demangle): ObjectsProfile {
  for (const { types, sites, frames } of profile.parts) {
    for (const type of types) if (type.name !== undefined) type.name = demangle(type.name);
    const ofSites = sites.flatMap(({ frame }) => (frame === undefined ? [] : frame));
    for (const frame of [...ofSites, ...frames])
      if (frame.name !== undefined) frame.name = demangle(frame.name);
  }
  return profile;
}

export function readableWorkingSet(profile: WorkingSetProfile, demangle: Demangle): WorkingSetProfile {
  for (const { stacks, firstTouch, owners, locality } of profile.instances) {
    const attributed = [firstTouch, owners].flatMap((part) => part?.contexts ?? []);
    const frames = [...stacks, ...attributed.map(({ stack }) => stack)].flat();
    for (const { frame } of locality?.sites ?? []) if (frame !== undefined) frames.push(frame);
    for (const frame of frames) if (frame.name !== undefined) frame.name = demangle(frame.name);
  }
  return profile;
}
