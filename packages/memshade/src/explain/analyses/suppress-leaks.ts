import {
  type HeapProfile,
  REACH_OF_KIND,
  type SiteColumns,
  type SiteField,
} from "../../profile/model/heap-profile.ts";
import type { IndexIntoContextTable, IndexIntoFrameTable } from "../../profile/model/indices.ts";
import { NONE } from "../../profile/model/indices.ts";
import { framesOfContext } from "../../profile/model/stacks.ts";
import type { FramePattern, Suppressed, Suppression } from "../../profile/model/suppression.ts";
import { bareName, mainName } from "./frames/function-names.ts";
import { globPattern } from "./glob.ts";

interface NamedFrame {
  readonly functions: readonly string[];
  readonly objects: readonly string[];
  readonly files: readonly string[];
  readonly line: number;
}

/**
 * Returns the profile with suppressed blocks removed from its lost blocks; they stay live. The first suppression that
 * fits a call path counts.
 */
export function suppressLeaks(profile: HeapProfile, suppressions: readonly Suppression[]): HeapProfile {
  const { site } = profile.contexts;
  if (suppressions.length === 0) return profile;
  const columns: Writable<SiteColumns> | undefined = site && {
    ...site,
    suppressedBlocks: new Float64Array(profile.contexts.length),
    suppressedBytes: new Float64Array(profile.contexts.length),
  };
  const isKnown = profile.description.totals?.reach !== undefined;
  const counts = suppressions.map(() => ({ paths: 0, blocks: 0, bytes: 0 }));
  const copied = new Set<string>();
  const take = (field: SiteField, context: number): number => {
    if (!copied.has(field)) columns![field] = columns![field].slice();
    copied.add(field);
    const value = columns![field][context]!;
    columns![field][context] = 0;
    return value;
  };
  const frames = new Frames(profile);
  for (let row = 0; row < profile.contexts.length && columns !== undefined; row++) {
    if (columns.liveBlocks[row] === 0) continue;
    const path = frames.pathOf(row as IndexIntoContextTable);
    const first = suppressions.findIndex((suppression) => fits(suppression, path));
    const count = counts[first];
    if (count === undefined) continue;
    let blocks = 0;
    let bytes = 0;
    for (const kind of suppressions[first]!.kinds) {
      const [ofBytes, ofBlocks, ...rest] = REACH_OF_KIND[kind];
      bytes += take(ofBytes, row);
      blocks += take(ofBlocks, row);
      for (const field of rest) take(field, row);
    }
    if (!isKnown) {
      blocks = columns.liveBlocks[row]!;
      bytes = columns.liveBytes[row]!;
    }
    if (blocks === 0) continue;
    columns.suppressedBlocks![row] = blocks;
    columns.suppressedBytes![row] = bytes;
    count.paths++;
    count.blocks += blocks;
    count.bytes += bytes;
  }
  const suppressed = suppressions.map((suppression, at): Suppressed => ({ suppression, ...counts[at]! }));
  return {
    ...profile,
    contexts: { ...profile.contexts, site: columns },
    description: { ...profile.description, suppressed },
  };
}

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

function fits({ path: pattern }: Suppression, path: readonly NamedFrame[]): boolean {
  if (typeof pattern !== "string") return fitsFrames(pattern, 0, path, 0) || fitsFrames(pattern, 0, path, 1);
  const [, begins, core, ends] = /^(\^?)(.*?)(\$?)$/s.exec(pattern)!;
  const glob = globPattern(`${begins === "" ? "*" : ""}${core}${ends === "" ? "*" : ""}`);
  return path.some(({ functions, objects, files }) =>
    [...functions, ...objects, ...files].some((text) => glob.test(text)),
  );
}

function fitsFrames(
  patterns: readonly FramePattern[],
  at: number,
  path: readonly NamedFrame[],
  frame: number,
): boolean {
  const pattern = patterns[at];
  if (pattern === undefined) return true;
  if (pattern.kind === "any") {
    for (let next = frame; next <= path.length; next++)
      if (fitsFrames(patterns, at + 1, path, next)) return true;
    return false;
  }
  const found = path[frame];
  return found !== undefined && fitsFrame(pattern, found) && fitsFrames(patterns, at + 1, path, frame + 1);
}

function fitsFrame(pattern: Exclude<FramePattern, { kind: "any" }>, frame: NamedFrame): boolean {
  const glob = globPattern(pattern.glob);
  if (pattern.kind === "function") return frame.functions.some((name) => glob.test(name));
  if (pattern.kind === "object") return frame.objects.some((name) => glob.test(name));
  return (
    (pattern.line === undefined || pattern.line === frame.line) && frame.files.some((name) => glob.test(name))
  );
}

/** Call paths of a profile's contexts, including the allocation function. */
class Frames {
  readonly #profile: HeapProfile;
  readonly #namedFrames = new Map<IndexIntoFrameTable, NamedFrame>();

  constructor(profile: HeapProfile) {
    this.#profile = profile;
  }

  pathOf(context: IndexIntoContextTable): NamedFrame[] {
    const frames = framesOfContext(this.#profile, context).map((frame) => this.#named(frame));
    const module = this.#profile.modules.find(({ name }) => frames[0]?.objects.includes(name));
    const functions = (module?.allocator?.functions ?? []).flatMap(({ name, role }) => [name ?? role, role]);
    return [{ functions, objects: frames[0]?.objects ?? [], files: [], line: 0 }, ...frames];
  }

  #named(frame: IndexIntoFrameTable): NamedFrame {
    let named = this.#namedFrames.get(frame);
    if (named === undefined) {
      const { frames, functions, modules, strings } = this.#profile;
      const row = frames.function[frame]!;
      const name = functions.name[row]!;
      const module = functions.module[row]!;
      const file = frames.file[frame]!;
      const text = name === NONE ? undefined : strings[name]!;
      const path = file === NONE ? undefined : strings[file]!;
      const object = module === NONE ? undefined : modules[module]!;
      named = {
        functions: text === undefined ? [] : [text, mainName(text), bareName(text)],
        objects: object === undefined ? [] : [object.name, ...(object.path ? [object.path] : [])],
        files: path === undefined ? [] : [path, path.slice(path.lastIndexOf("/") + 1)],
        line: frames.line[frame]!,
      };
      this.#namedFrames.set(frame, named);
    }
    return named;
  }
}
