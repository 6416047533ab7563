import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { dirname, sep } from "node:path";

/** Amount of work: for a benchmark, or for a moment in tests. */
export type Scale = "full" | "small";

/** Work over one npm package that contains WebAssembly, through the package's own JavaScript. */
export interface Workload {
  name: string;
  /**
   * The wasm files, and the glue that has the names of minified exports. Without a wasm file, the module is embedded in the
   * glue. Throws if not installed.
   */
  files(): { wasm?: string; glue?: string }[];
  /** Loads the package as at a program's start, so that its modules are instantiated again. */
  load(): Promise<Session>;
}

export interface Session {
  /** Does the work once; returns a text that depends only on the results, and on all of them. */
  run(scale: Scale): string | Promise<string>;
}

export const require = createRequire(import.meta.url);

/** Path of a file in an installed package; throws MODULE_NOT_FOUND if the package is missing. */
export function packageFile(packageName: string, path: string): string {
  for (const folder of require.resolve.paths(packageName) ?? [])
    try {
      return require.resolve(`${folder}/${packageName}/${path}`);
    } catch {
      // The package is not in this node_modules; the next one up follows.
    }
  const error: NodeJS.ErrnoException = new Error(`${packageName}/${path} is not installed`);
  error.code = "MODULE_NOT_FOUND";
  throw error;
}

/** Files of a package whose module is embedded in this JavaScript file. */
export function embeddedIn(glue: string): [{ glue: string }] {
  return [{ glue }];
}

/** Requires a CommonJS package as if for the first time: its files run again. */
// biome-ignore lint/suspicious/noExplicitAny: packages come with types of very different quality
export function requireAnew(specifier: string): any {
  const folder = dirname(require.resolve(specifier)) + sep;
  for (const file of Object.keys(require.cache)) if (file.startsWith(folder)) delete require.cache[file];
  return require(specifier);
}

export function isInstalled(workload: Workload): boolean {
  try {
    workload.files();
    return true;
  } catch {
    return false;
  }
}

/** Folds results into a short text. */
export class Digest {
  readonly #hash = createHash("sha256");

  add(value: unknown): this {
    this.#hash.update(value instanceof Uint8Array ? value : (JSON.stringify(value) ?? "undefined"));
    return this;
  }

  /** The first 16 hexadecimal digits, behind a summary of the counted items. */
  finish(summary: string): string {
    return `${summary} ${this.#hash.digest("hex").slice(0, 16)}`;
  }
}

/** A deterministic sequence of integers below a limit. */
export function sequence(seed = 1): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 0x1_0000_0000) * limit);
  };
}

const WORDS =
  "amber basin cedar delta ember field grove harbor island juniper kettle lantern meadow north orchard pebble quarry river stone timber under valley willow yellow zephyr".split(
    " ",
  );

/** Text of about `bytes` bytes: sentences of repeating words, with some numbers. */
export function generateText(bytes: number, seed = 7): string {
  const next = sequence(seed);
  const parts: string[] = [];
  for (let length = 0; length < bytes; ) {
    const words = Array.from({ length: 4 + next(9) }, () => WORDS[next(WORDS.length)] as string);
    if (next(3) === 0) words.push(String(next(10_000)));
    const sentence = `${words.join(" ")}.${next(6) === 0 ? "\n" : " "}`;
    parts.push(sentence);
    length += sentence.length;
  }
  return parts.join("");
}

/** Runs a workload as a script: `node sqljs.ts [small|full]`. */
export async function runAsScript(workload: Workload): Promise<void> {
  const session = await workload.load();
  console.log(`${workload.name}: ${await session.run(process.argv[2] === "small" ? "small" : "full")}`);
}
