import { bareName } from "./function-names.ts";
import { libraryOf, type NamedFrame } from "./libraries.ts";

/** What the user says of whose code is whose. */
export interface FrameRuleOptions {
  /** Globs of source files or functions that are the program's own, whatever else holds. */
  readonly own?: readonly string[] | undefined;
  /** The same for what is a library. */
  readonly library?: readonly string[] | undefined;
}

const NAMED = "a library";

/** Says of frames whether they are the program's own: the one place that decides it. */
export class FrameRules {
  readonly #own: readonly RegExp[];
  readonly #library: readonly RegExp[];
  readonly #known = new Map<string, string | undefined>();

  constructor({ own = [], library = [] }: FrameRuleOptions = {}) {
    this.#own = own.map(globPattern);
    this.#library = library.map(globPattern);
  }

  /** The library that a frame's function is of, in words; undefined for the program's own. */
  libraryOf({ function: name, file, module, host }: NamedFrame): string | undefined {
    const key = `${host ?? ""}\n${module ?? ""}\n${file ?? ""}\n${name ?? ""}`;
    if (!this.#known.has(key)) this.#known.set(key, this.#decide({ function: name, file, module, host }));
    return this.#known.get(key);
  }

  /** Whether the user said that a frame's function is the program's own. */
  isNamedOwn(frame: NamedFrame): boolean {
    return fits(this.#own, frame);
  }

  #decide(frame: NamedFrame): string | undefined {
    if (this.isNamedOwn(frame)) return undefined;
    const known = libraryOf(frame);
    return known ?? (fits(this.#library, frame) ? NAMED : undefined);
  }
}

/** Whether a glob is that of the function, or of the end of its file's path. */
function fits(globs: readonly RegExp[], { function: name, file }: NamedFrame): boolean {
  if (globs.length === 0) return false;
  const bare = name === undefined ? undefined : bareName(name);
  const path = file === undefined ? undefined : `/${file.replaceAll("\\", "/")}`;
  return globs.some(
    (glob) => (bare !== undefined && glob.test(bare)) || (path !== undefined && glob.test(path)),
  );
}

/** `*` stands for any characters, `?` for one; a folder (`vendor/`) for everything below it. */
function globPattern(glob: string): RegExp {
  const text = glob.endsWith("/") ? `${glob}*` : glob;
  const parts = text
    .replace(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
    .replace(/\*+/g, ".*")
    .replaceAll("?", ".");
  return new RegExp(`^(?:.*/)?${parts}$`, "s");
}
