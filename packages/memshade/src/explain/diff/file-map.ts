import { functionName, type KeyFrame } from "./path-keys.ts";

type FilesOf = Map<string, Set<string>>;

/** Which functions of two builds are the same: by name, and by file where several have one name. Files may have other names. */
export class FileMap {
  readonly #old: FilesOf;
  readonly #new: FilesOf;
  /** Names of files in the newer build by those in the older one. */
  readonly #renamed: ReadonlyMap<string, string>;

  constructor(old: readonly KeyFrame[], now: readonly KeyFrame[]) {
    this.#old = filesOf(old);
    this.#new = filesOf(now);
    this.#renamed = renamedFiles(this.#old, this.#new);
  }

  /** Where the one file of a function is now that it was in alone: that of other functions may be another. */
  #movedFile(name: string, file: string): string | undefined {
    const [olds, news] = [this.#old.get(name), this.#new.get(name)];
    if (olds === undefined || news === undefined || news.has(this.fileOf("old", file))) return undefined;
    const kept = new Set(Array.from(olds, (one) => this.fileOf("old", one)));
    const gone = [...olds].filter((one) => !news.has(this.fileOf("old", one)));
    const fresh = [...news].filter((one) => !kept.has(one));
    return gone.length === 1 && fresh.length === 1 ? fresh[0] : undefined;
  }

  /** What a file is called in the newer build, if that has it. */
  fileOf(side: "old" | "new", file: string): string {
    return side === "old" ? (this.#renamed.get(file) ?? file) : file;
  }

  /** What the function of a frame is called in both builds. */
  functionOf(side: "old" | "new", { name, file }: KeyFrame): string {
    const key = functionName(name);
    const isOne = (files: FilesOf) => (files.get(key)?.size ?? 0) < 2;
    if (file === undefined || (isOne(this.#old) && isOne(this.#new))) return key;
    return `${key}\n${(side === "old" && this.#movedFile(key, file)) || this.fileOf(side, file)}`;
  }
}

/** The files that functions of each name are in. */
function filesOf(frames: readonly KeyFrame[]): FilesOf {
  const files: FilesOf = new Map();
  for (const { name, file } of frames) {
    const key = functionName(name);
    let of = files.get(key);
    if (of === undefined) {
      of = new Set();
      files.set(key, of);
    }
    if (file !== undefined) of.add(file);
  }
  return files;
}

/** Files that the newer build has not are those that have the same functions now, or else the same name in another folder. */
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

/** How many functions, of those with a name of their own in both builds, went from one file to another. */
function votesOf(old: FilesOf, now: FilesOf): Map<string, number> {
  const votes = new Map<string, number>();
  for (const [name, files] of old) {
    const [from, ...others] = files;
    const [to, ...more] = now.get(name) ?? [];
    if (from === undefined || to === undefined || others.length + more.length > 0) continue;
    votes.set(`${from}\n${to}`, (votes.get(`${from}\n${to}`) ?? 0) + 1);
  }
  return votes;
}

function baseOf(file: string): string {
  return file.slice(Math.max(file.lastIndexOf("/"), file.lastIndexOf("\\")) + 1);
}
