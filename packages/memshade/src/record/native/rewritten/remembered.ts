import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { writeWholeFile } from "../../../names/load/whole-file.ts";
import { makeFolders } from "../../host/run/make-folders.ts";
import { isOwn, KEPT_MODE } from "../../host/run/own-files.ts";

/** More than a program has of what is remembered. */
const MOST_ITEMS = 2000;
const MOST_PROGRAMS = 1000;
const NAME_DIGITS = 32;

/** What runs of a program have found out for the next ones: a list in a file of its own. */
export class Remembered {
  /** From earlier runs. Nothing where nothing was kept, or it is damaged. */
  readonly items: readonly string[];
  readonly #folder: string;
  readonly #path: string;

  /** @param program path without links @param folder where such lists are kept, of all programs */
  constructor(program: string, folder: string) {
    this.#folder = folder;
    const name = createHash("sha256").update(program).digest("hex").slice(0, NAME_DIGITS);
    this.#path = join(folder, `${name}.json`);
    this.items = readItems(this.#path);
  }

  /** Remembers these, and nothing else. @returns whether they could be written down */
  keep(items: Iterable<string>): boolean {
    const all = [...new Set(items)].slice(0, MOST_ITEMS);
    try {
      makeFolders(this.#folder, 0o700);
      writeWholeFile(this.#path, (file) => file.write(JSON.stringify(all)), KEPT_MODE);
      this.#forgetOldest();
      return true;
    } catch {
      return false;
    }
  }

  #forgetOldest(): void {
    const names = readdirSync(this.#folder);
    if (names.length <= MOST_PROGRAMS) return;
    const paths = names.map((name) => join(this.#folder, name));
    const timeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    paths.sort((a, b) => timeOf(b) - timeOf(a));
    for (const path of paths.slice(MOST_PROGRAMS)) rmSync(path, { force: true });
  }
}

function readItems(path: string): string[] {
  try {
    if (!isOwn(path)) return [];
    const items: unknown = JSON.parse(readFileSync(path, "utf8"));
    return Array.isArray(items) ? items.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}
