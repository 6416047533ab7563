import { bareName, mainName } from "../analyses/frames/function-names.ts";
import { globPattern } from "../analyses/glob.ts";
import type { PlaceFrame } from "../findings/finding-kind.ts";
import type { MeasuredPlace } from "./measured-place.ts";

export const FILTER_KEYS = ["function", "file", "package", "module", "under", "kind"] as const;
export type FilterKey = (typeof FILTER_KEYS)[number];

/** Filter of places: `file=src/tile.c`, `function=parse*`. */
export interface PlaceFilter {
  readonly key: FilterKey;
  readonly glob: string;
}

export function parseFilter(text: string): PlaceFilter | undefined {
  const [, name, glob] = /^\s*([a-z]+)\s*=\s*(.*?)\s*$/s.exec(text) ?? [];
  const key = FILTER_KEYS.find((candidate) => candidate === name);
  return key === undefined || glob === undefined || glob === "" ? undefined : { key, glob };
}

/**
 * Returns true if all filters choose a place. All keys but `under` refer to the code that names the place and to the
 * library code that it called. `under` also refers to its callers.
 */
export function choosesPlace(filters: readonly PlaceFilter[], place: MeasuredPlace): boolean {
  return filters.every(({ key, glob }) => chooses(key, globPattern(glob), place));
}

function chooses(key: FilterKey, pattern: RegExp, place: MeasuredPlace): boolean {
  const { path, inside = [], kind } = place;
  const frames = [...inside, ...path.slice(0, 1)];
  switch (key) {
    case "function":
      return frames.some((frame) => namesOf(frame).some((name) => pattern.test(name)));
    case "under":
      return [...inside, ...path].some((frame) => namesOf(frame).some((name) => pattern.test(name)));
    case "file":
      return frames.some(({ file }) => file !== undefined && endsOf(file).some((end) => pattern.test(end)));
    case "package":
      return frames.some((frame) => packagesOf(frame).some((name) => pattern.test(name)));
    case "module":
      return frames.some(({ module }) => module !== undefined && pattern.test(module));
    case "kind":
      return kind !== undefined && pattern.test(kind);
  }
}

function namesOf({ function: name }: PlaceFrame): string[] {
  return name === undefined ? [] : [name, mainName(name), bareName(name)];
}

/** Returns a path and all of its ends after a slash, so that `src/tile.c` matches `/build/app/src/tile.c`. */
function endsOf(file: string): string[] {
  const path = file.replace(/^file:\/\//, "").replaceAll("\\", "/");
  const ends = [path];
  for (let slash = path.indexOf("/"); slash >= 0; slash = path.indexOf("/", slash + 1))
    ends.push(path.slice(slash + 1));
  return ends;
}

/** Patterns of npm packages, crates and Go modules in file paths. */
const PACKAGE_PATHS = [
  /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\//g,
  /(?:^|\/)\.?cargo\/(?:registry\/src|git\/checkouts)\/[^/]+\/(.+?)-\d[^/]*\//g,
  /(?:^|\/)pkg\/mod\/(.+?)@v[^/]*\//g,
];

/** Returns the package of a frame, by its file, and the name of its library in reports. */
function packagesOf({ file, library }: PlaceFrame & { readonly library?: string | undefined }): string[] {
  const path = file?.replaceAll("\\", "/") ?? "";
  const found = PACKAGE_PATHS.flatMap((pattern) => [...path.matchAll(pattern)].map(([, name]) => name!));
  const innermost = found.at(-1);
  return [...(innermost === undefined ? [] : [innermost]), ...(library === undefined ? [] : [library])];
}
