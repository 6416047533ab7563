import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import { type IndexIntoContextTable, type IndexIntoFrameTable, NONE } from "../../profile/model/indices.ts";
import { siteFrameOfContext } from "../../profile/model/site-frame.ts";
import { framesOfContext } from "../../profile/model/stacks.ts";
import { ambiguousFunctions } from "../analyses/ambiguous-functions.ts";
import { frameName } from "../analyses/frames/frame-name.ts";
import { type ContextGroups, type GroupBy, groupContexts } from "../analyses/groups.ts";
import { exactKey, type KeyFrame, type PathKey, withSigns } from "./path-keys.ts";

/** Returns the groups of a profile, with equal names and places combined, and their keys for other profiles. */
export function keyedGroups(
  profile: HeapProfile,
  by: GroupBy,
): { groups: ContextGroups; keys: readonly PathKey[] } {
  const finer = groupContexts(profile, by);
  const keys: PathKey[] = [];
  const contexts: IndexIntoContextTable[][] = [];
  const groupOf = new Int32Array(finer.groupOf.length);
  const groupOfKey = new Map<string, number>();
  for (const members of finer.contexts) {
    const frames = framesOf(profile, members[0]!, by).map((frame) => keyFrame(profile, frame));
    const key: PathKey = { frames, withPlaces: by !== "function" };
    const text = exactKey(key);
    let group = groupOfKey.get(text);
    if (group === undefined) {
      group = keys.push(key) - 1;
      contexts.push([]);
      groupOfKey.set(text, group);
    }
    for (const context of members) {
      groupOf[context] = group;
      contexts[group]!.push(context);
    }
  }
  const { allocCount, totalSize } = profile.contexts.mibs;
  const sum = (column: ArrayLike<number | bigint>, members: readonly IndexIntoContextTable[]) =>
    members.reduce((total, context) => total + Number(column[context]), 0);
  const signed = keys.map((key, group) => {
    const members = contexts[group]!;
    return withSigns(key, `${sum(allocCount, members)} ${sum(totalSize, members)}`);
  });
  return { groups: { by, length: keys.length, groupOf, contexts }, keys: signed };
}

function framesOf(profile: HeapProfile, context: IndexIntoContextTable, by: GroupBy): IndexIntoFrameTable[] {
  if (by === "path") return framesOfContext(profile, context);
  const frame = siteFrameOfContext(profile, context);
  return frame === undefined ? [] : [frame];
}

export function keyFrame(profile: HeapProfile, frame: IndexIntoFrameTable): KeyFrame {
  const { frames, strings } = profile;
  const file = frames.file[frame]!;
  return {
    name: nameOf(profile, frame),
    file: file === NONE ? undefined : strings[file],
    line: frames.line[frame]!,
    column: frames.column[frame]!,
    startLine: frames.startLine?.[frame],
    offset: frames.offset[frame]!,
  };
}

/**
 * Returns a function's name, with its module if the name is ambiguous. An unnamed function has its number in the
 * module, or its export's name.
 */
function nameOf(profile: HeapProfile, frame: IndexIntoFrameTable): string {
  const { frames, functions, modules, strings } = profile;
  const row = frames.function[frame]!;
  const [name, module] = [functions.name[row]!, functions.module[row]!];
  const moduleName = module === NONE ? undefined : modules[module]!.name;
  const isObject = module !== NONE && modules[module]!.objectAddress !== undefined;
  if (name === NONE)
    return functions.wasmIndex[row] === NONE || isObject
      ? frameName(profile, frame)
      : `${moduleName ?? ""} ${frameName(profile, frame)}`;
  const text = strings[name]!;
  // A unique function keeps its key if its module's file is renamed.
  return moduleName === undefined || !ambiguousFunctions(profile).has(text)
    ? text
    : `${text} of ${moduleName}`;
}
