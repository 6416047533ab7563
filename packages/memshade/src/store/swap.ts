import { existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { UserError } from "../ground/bytes/errors.ts";
import { writeWholeFile } from "../names/load/whole-file.ts";

const SWAP_FILE = "memshade-swap.json";

/** Files, by their paths in the store: those that come, under the names that they have until then, and those that they stand for. */
interface Exchange {
  readonly come: readonly { readonly partial: string; readonly file: string }[];
  readonly go: readonly string[];
}

/**
 * Files of a store that are replaced by others. Whoever reads sees either the old ones or the new ones, also where it ended in the
 * middle: what is to be done is written down first.
 */
export class Swap {
  readonly #store: string;
  readonly #exchange: Exchange;

  constructor(store: string, exchange: Exchange) {
    this.#store = store;
    this.#exchange = exchange;
  }

  /** The files of a folder of a table, as they will be. */
  applyTo(files: readonly string[], folder: string): string[] {
    const { come, go } = this.#exchange;
    const gone = new Set([...go, ...come.map(({ file }) => file)].map((path) => join(this.#store, path)));
    const added = come
      .map(({ partial, file }) => [join(this.#store, partial), join(this.#store, file)] as const)
      .filter(([, file]) => file.startsWith(`${folder}/`))
      .map(([partial, file]) => (existsSync(partial) ? partial : file));
    return [...files.filter((file) => !gone.has(file)), ...added].sort();
  }

  /** Writes down what is to be done, and does it. */
  run(): void {
    writeWholeFile(join(this.#store, SWAP_FILE), (file) => file.write(JSON.stringify(this.#exchange)));
    this.finish();
  }

  /** Does what is written down, as far as it is not done. */
  finish(): void {
    const { come, go } = this.#exchange;
    const names = new Set(come.map(({ file }) => file));
    for (const { partial, file } of come)
      if (existsSync(join(this.#store, partial)))
        renameSync(join(this.#store, partial), join(this.#store, file));
    for (const file of go) if (!names.has(file)) rmSync(join(this.#store, file), { force: true });
    rmSync(join(this.#store, SWAP_FILE), { force: true });
  }
}

/** What somebody has begun in a store, and not ended. */
export function pendingSwap(store: string): Swap | undefined {
  const file = join(store, SWAP_FILE);
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    // It ended just now, as a rule there is none.
    return undefined;
  }
  try {
    return new Swap(store, JSON.parse(text) as Exchange);
  } catch {
    throw new UserError(`${file} is damaged: ${dirname(file)} cannot be read`);
  }
}
