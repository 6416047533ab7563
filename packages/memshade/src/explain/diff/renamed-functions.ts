import { entryOf } from "../../ground/bytes/entries.ts";
import { bareName } from "../analyses/frames/function-names.ts";
import { functionName, type KeyFrame } from "./path-keys.ts";

type FilesOf = Map<string, Set<string>>;

/** Maps functions between two builds: by name, and by file if several have one name. Files may be renamed. */
export class FileMap {
  readonly #old: FilesOf;
  readonly #new: FilesOf;
  readonly #renamed: ReadonlyMap<string, string>;

  constructor(old: readonly KeyFrame[], now: readonly KeyFrame[]) {
    this.#old = filesOf(old);
    this.#new = filesOf(now);
    this.#renamed = renamedFiles(this.#old, this.#new);
  }

  /**
   * Returns the new file of a function that was in a single file; other functions of the old file may have moved
   * elsewhere.
   */
  #movedFile(name: string, file: string): string | undefined {
    const [olds, news] = [this.#old.get(name), this.#new.get(name)];
    if (olds === undefined || news === undefined || news.has(this.fileOf("old", file))) return undefined;
    const oldNames = new Set(Array.from(olds, (path) => this.fileOf("old", path)));
    const gone = [...olds].filter((path) => !news.has(this.fileOf("old", path)));
    const fresh = [...news].filter((path) => !oldNames.has(path));
    return gone.length === 1 && fresh.length === 1 ? fresh[0] : undefined;
  }

  fileOf(side: "old" | "new", file: string): string {
    return side === "old" ? (this.#renamed.get(file) ?? file) : file;
  }

  functionOf(side: "old" | "new", { name, file }: KeyFrame): string {
    const key = functionName(name);
    const isOne = (files: FilesOf) => (files.get(key)?.size ?? 0) < 2;
    if (file === undefined || (isOne(this.#old) && isOne(this.#new))) return key;
    return `${key}\n${(side === "old" && this.#movedFile(key, file)) || this.fileOf(side, file)}`;
  }
}

function filesOf(frames: readonly KeyFrame[]): FilesOf {
  const files: FilesOf = new Map();
  for (const { name, file } of frames) {
    const key = functionName(name);
    const paths = entryOf(files, key, () => new Set());
    if (file !== undefined) paths.add(file);
  }
  return files;
}

/**
 * Maps files that are missing in the newer build: to a file with the same functions, or else to one with the same name
 * in another folder.
 */
function renamedFiles(old: FilesOf, now: FilesOf): Map<string, string> {
  const olds = new Set([...old.values()].flatMap((files) => [...files]));
  const news = new Set([...now.values()].flatMap((files) => [...files]));
  const gone = [...olds].filter((file) => !news.has(file));
  const fresh = new Set([...news].filter((file) => !olds.has(file)));
  const renamed = new Map<string, string>();
  const votes = votesOf(old, now);
  for (const file of gone) {
    const candidates = [...fresh]
      .map((to) => ({
        to,
        votes: (votes.get(`${file}\n${to}`) ?? 0) + (baseOf(file) === baseOf(to) ? 0.5 : 0),
      }))
      .filter((candidate) => candidate.votes > 0)
      .sort((a, b) => b.votes - a.votes || (a.to < b.to ? -1 : 1));
    const [best] = candidates;
    if (best === undefined) continue;
    renamed.set(file, best.to);
    fresh.delete(best.to);
  }
  return renamed;
}

/** Counts how many functions, unique by name in both builds, moved from one file to another. */
function votesOf(old: FilesOf, now: FilesOf): Map<string, number> {
  const votes = new Map<string, number>();
  for (const [name, files] of old) {
    const [from, ...otherFiles] = files;
    const [to, ...more] = now.get(name) ?? [];
    if (from === undefined || to === undefined || otherFiles.length + more.length > 0) continue;
    votes.set(`${from}\n${to}`, (votes.get(`${from}\n${to}`) ?? 0) + 1);
  }
  return votes;
}

function baseOf(file: string): string {
  return file.slice(Math.max(file.lastIndexOf("/"), file.lastIndexOf("\\")) + 1);
}

/** Function names of an older build, mapped to those of a newer one. */
export type RenamedFunctions = ReadonlyMap<string, string>;

/** Bound on the compared pairs: more are no small change of a program. */
const MOST_PAIRS = 1_000_000;
/** Least number of agreeing facts: a single one, such as the file, is true of too many functions. */
const LEAST_FACTS = 2;

/**
 * Finds renamed functions: each exists in only one build under its name, and is equal by all known facts. These are the
 * file, the callers, the callees, the positions of activity, and the last part of the name, which survives a change of
 * parameters, types or namespaces. A function is mapped only if no other one fits equally well.
 *
 * @param old call paths, innermost frame first
 */
export function renamedFunctions(
  old: readonly (readonly KeyFrame[])[],
  now: readonly (readonly KeyFrame[])[],
): RenamedFunctions {
  const files = new FileMap(old.flat(), now.flat());
  const [before, after] = [functionsOf(old), functionsOf(now)];
  const gone = [...before].filter(([name]) => !after.has(name)).map(([, entry]) => entry);
  const fresh = [...after].filter(([name]) => !before.has(name)).map(([, entry]) => entry);
  const renamed = new Map<string, string>();
  if (gone.length * fresh.length > MOST_PAIRS) return renamed;
  for (let found = -1; found !== renamed.size; ) {
    found = renamed.size;
    const taken = new Set(renamed.values());
    const olds = gone.filter(({ name }) => !renamed.has(name));
    const news = fresh.filter(({ name }) => !taken.has(name));
    const isKnown = (name: string) => after.has(renamed.get(name) ?? name);
    const isTold = (name: string) => before.has(name) || taken.has(name);
    const factsOfNew = news.map((entry) => factsOf(entry, "new", { files, nameOf: same, isKnown: isTold }));
    const nameOf = (name: string) => renamed.get(name) ?? name;
    const factsOfOld = olds.map((entry) => factsOf(entry, "old", { files, nameOf, isKnown }));
    const scores = factsOfOld.map((facts) => factsOfNew.map((newFacts) => agreeing(facts, newFacts)));
    for (const [row, ofRow] of scores.entries()) {
      const best = Math.max(0, ...ofRow);
      const column = ofRow.indexOf(best);
      if (best < LEAST_FACTS || ofRow.indexOf(best, column + 1) >= 0) continue;
      const isBestOfBoth = scores.every((rowScores, other) => other === row || rowScores[column]! < best);
      if (isBestOfBoth) renamed.set(olds[row]!.name, news[column]!.name);
    }
  }
  return renamed;
}

export function inNewNames(renamed: RenamedFunctions, frame: KeyFrame): KeyFrame {
  const name = renamed.get(functionName(frame.name));
  return name === undefined ? frame : { ...frame, name };
}

/** Returns the names for display: inlined copies of a function count as that function. */
export function displayedNames(renamed: RenamedFunctions): RenamedFunctions {
  const inlined = (name: string) => name.replace(/ in .*$/, "");
  const pairs = Array.from(renamed, ([old, now]) => [inlined(old), inlined(now)] as const);
  return new Map(pairs.filter(([old, now]) => old !== now));
}

interface PlacedFunction {
  readonly name: string;
  readonly files: Set<string>;
  readonly callers: Set<string>;
  readonly callees: Set<string>;
  readonly places: Set<string>;
}

function functionsOf(paths: readonly (readonly KeyFrame[])[]): Map<string, PlacedFunction> {
  const functions = new Map<string, PlacedFunction>();
  for (const path of paths)
    for (const [index, { name: written, file, line = 0, column = 0, startLine = 0 }] of path.entries()) {
      const name = functionName(written);
      const entry = entryOf(functions, name, () => ({
        name,
        files: new Set<string>(),
        callers: new Set<string>(),
        callees: new Set<string>(),
        places: new Set<string>(),
      }));
      if (file !== undefined) entry.files.add(file);
      const [callee, caller] = [path[index - 1], path[index + 1]];
      if (callee !== undefined) entry.callees.add(functionName(callee.name));
      if (caller !== undefined) entry.callers.add(functionName(caller.name));
      if (line > 0 && startLine > 0) entry.places.add(`${line - startLine}:${column}`);
    }
  return functions;
}

/** Compared facts of a function; undefined if unknown, or if they contain names that are not in both builds. */
interface Facts {
  readonly file: string | undefined;
  /** Name without parameters and template types. */
  readonly bareName: string;
  readonly ownName: string;
  readonly isLeaf: boolean;
  readonly callers: string | undefined;
  readonly callees: string | undefined;
  readonly places: string | undefined;
}

function factsOf(
  { name, files: ownFiles, callers, callees, places }: PlacedFunction,
  side: "old" | "new",
  {
    files,
    nameOf,
    isKnown,
  }: { files: FileMap; nameOf: (name: string) => string; isKnown: (name: string) => boolean },
): Facts {
  const neighbours = (names: ReadonlySet<string>) =>
    // Recursive calls are left out, because they use the function's own name.
    textOf([...names].filter((neighbour) => neighbour !== name && isKnown(neighbour)).map(nameOf));
  return {
    file: textOf([...ownFiles].map((file) => files.fileOf(side, file))),
    bareName: bareName(name),
    ownName: bareName(name).split(/::|\//).at(-1)!,
    isLeaf: callees.size === 0,
    callers: neighbours(callers),
    callees: neighbours(callees),
    places: textOf([...places]),
  };
}

const FACTS = ["file", "bareName", "ownName", "callers", "callees", "places"] as const;

/** Returns the number of equal facts, minus the number of different calls. */
function agreeing(a: Facts, b: Facts): number {
  if (a.isLeaf !== b.isLeaf) return 0;
  let facts = 0;
  for (const key of FACTS) {
    if (a[key] === undefined || b[key] === undefined) continue;
    if (a[key] === b[key]) facts++;
    else if (key === "callers" || key === "callees") facts--;
  }
  return facts;
}

function textOf(words: readonly string[]): string | undefined {
  return words.length === 0 ? undefined : words.toSorted().join("\n");
}

function same(name: string): string {
  return name;
}
