import { bareName } from "./function-names.ts";
import { libraryOf, type NamedFrame } from "./libraries.ts";

export interface FrameRuleOptions {
  /** Globs of source files or functions that are always the program's own. */
  readonly own?: readonly string[] | undefined;
  /** Globs of source files or functions that are a library. */
  readonly library?: readonly string[] | undefined;
}

const NAMED = "a library";

/** Decides which frames are the program's own code. No other module decides this. */
export class FrameRules {
  readonly #own: readonly RegExp[];
  readonly #library: readonly RegExp[];
  readonly #libraries = new Map<string, string | undefined>();

  constructor({ own = [], library = [] }: FrameRuleOptions = {}) {
    this.#own = own.map(globPattern);
    this.#library = library.map(globPattern);
  }

  /** Returns the name of the library that a frame's function belongs to; undefined for the program's own code. */
  libraryOf({ function: name, file, module, host }: NamedFrame): string | undefined {
    const key = `${host ?? ""}\n${module ?? ""}\n${file ?? ""}\n${name ?? ""}`;
    if (!this.#libraries.has(key))
      this.#libraries.set(key, this.#decide({ function: name, file, module, host }));
    return this.#libraries.get(key);
  }

  isNamedOwn(frame: NamedFrame): boolean {
    return fits(this.#own, frame);
  }

  #decide(frame: NamedFrame): string | undefined {
    if (this.isNamedOwn(frame)) return undefined;
    const library = libraryOf(frame);
    return library ?? (fits(this.#library, frame) ? NAMED : undefined);
  }
}

/** Returns true if a glob matches the function, or the end of its file's path. */
function fits(globs: readonly RegExp[], { function: name, file }: NamedFrame): boolean {
  if (globs.length === 0) return false;
  const bare = name === undefined ? undefined : bareName(name);
  const path = file === undefined ? undefined : `/${file.replaceAll("\\", "/")}`;
  return globs.some(
    (glob) => (bare !== undefined && glob.test(bare)) || (path !== undefined && glob.test(path)),
  );
}

/**
 * Converts a glob to a pattern: `*` matches any characters, `?` one; a folder (`vendor/`) matches everything below it.
 */
function globPattern(glob: string): RegExp {
  const text = glob.endsWith("/") ? `${glob}*` : glob;
  const parts = text
    .replace(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
    .replace(/\*+/g, ".*")
    .replaceAll("?", ".");
  return new RegExp(`^(?:.*/)?${parts}$`, "s");
}
