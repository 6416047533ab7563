import type { HeapProfile } from "../../model/heap-profile.ts";
import { type IndexIntoContextTable, type IndexIntoFrameTable, NONE } from "../../model/indices.ts";
import { siteFrameOfContext } from "../../model/site-frame.ts";
import { framesOfContext } from "../../model/stacks.ts";
import { ambiguousFunctions } from "../ambiguous-functions.ts";
import type { GroupBy } from "../groups.ts";

/** What a group is called in any profile of the same program. */
export interface GroupKey {
  /** Names and places of its frames: equal for what did not move. */
  readonly exact: string;
  /** Names alone: equal for what moved inside its functions. */
  readonly names: string;
  /** Where its frames are, three numbers each: line, column, offset. */
  readonly places: readonly number[];
}

/** The key of the group that a context belongs to. */
export function groupKey(profile: HeapProfile, context: IndexIntoContextTable, by: GroupBy): GroupKey {
  const frames = framesOf(profile, context, by);
  const names = frames.map((frame) => nameOf(profile, frame)).join("\n");
  const own = frames.map((frame) => nameOf(profile, frame) + moduleOf(profile, frame));
  if (by === "function") return { exact: own.join("\n"), names, places: [] };
  return {
    exact: frames.map((frame, depth) => `${own[depth]}\n${placeOf(profile, frame)}`).join("\n"),
    names,
    places: frames.flatMap((frame) => numbersOf(profile, frame)),
  };
}

/** Order of groups with the same names, by where they are. */
export function comparePlaces(a: readonly number[], b: readonly number[]): number {
  for (let index = 0; index < a.length && index < b.length; index++) {
    if (a[index] !== b[index]) return a[index]! - b[index]!;
  }
  return a.length - b.length;
}

function framesOf(profile: HeapProfile, context: IndexIntoContextTable, by: GroupBy): IndexIntoFrameTable[] {
  if (by === "path") return framesOfContext(profile, context);
  const frame = siteFrameOfContext(profile, context);
  return frame === undefined ? [] : [frame];
}

/** A function's name; without one its number in its module, or nothing for code outside all modules. */
function nameOf({ frames, functions, modules, strings }: HeapProfile, frame: IndexIntoFrameTable): string {
  const row = frames.function[frame]!;
  const name = functions.name[row]!;
  if (name !== NONE) return strings[name]!;
  const module = functions.module[row]!;
  return `${module === NONE ? "" : modules[module]!.name} func[${functions.wasmIndex[row]}]`;
}

/** The module of a function whose name others have too: a file that was renamed is no other program. */
function moduleOf(profile: HeapProfile, frame: IndexIntoFrameTable): string {
  const { frames, functions, modules, strings } = profile;
  const row = frames.function[frame]!;
  const [name, module] = [functions.name[row]!, functions.module[row]!];
  if (name === NONE || module === NONE || !ambiguousFunctions(profile).has(strings[name]!)) return "";
  return ` of ${modules[module]!.name}`;
}

function placeOf(profile: HeapProfile, frame: IndexIntoFrameTable): string {
  const { frames, strings } = profile;
  const file = frames.file[frame]!;
  const [line, column, offset] = numbersOf(profile, frame);
  return `${file === NONE ? "" : strings[file]}:${line}:${column}:${offset}`;
}

/** Line, column and offset, which only counts where no line is known: it moves with every build. */
function numbersOf({ frames }: HeapProfile, frame: IndexIntoFrameTable): [number, number, number] {
  const line = frames.line[frame]!;
  return [line, frames.column[frame]!, line === 0 ? frames.offset[frame]! : 0];
}
