import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { openObject } from "../../packages/memshade/src/code/objects/index.ts";
import { FormatError } from "../../packages/memshade/src/ground/bytes/errors.ts";
import type { PlanBlock } from "../../packages/memshade/src/record/native/rewrite/plan.ts";
import {
  type Rewritten,
  rewriteFile,
} from "../../packages/memshade/src/record/native/rewrite/rewrite-file.ts";

const PT_INTERP = 3;

/** Files that a program consists of: paths without links. */
export interface LoadedFiles {
  /** The program, and the libraries that it loads at its start and later. */
  program: string[];
  loader: string;
}

/** Runs a program once and records the files that the dynamic linker loads. `folder`: parent of a new folder. */
export function loadedFiles(command: readonly string[], folder: string, input?: string): LoadedFiles {
  const out = mkdtempSync(join(folder, "loaded-"));
  const env = { ...process.env, LD_DEBUG: "files", LD_DEBUG_OUTPUT: join(out, "files") };
  spawnSync(command[0], command.slice(1), { input, env, stdio: ["pipe", "ignore", "ignore"], cwd: out });
  const said = readdirSync(out).map((name) => readFileSync(join(out, name), "utf8"));
  const libraries = said.flatMap((text) =>
    [...text.matchAll(/calling init: (\/.*)/g)].map(([, path]) => path),
  );
  const all = [...new Set([command[0], ...libraries].map((path) => realpathSync(path)))];
  const loader = all.find((path) => basename(path).startsWith("ld-linux"));
  if (loader === undefined) throw new Error(`${command[0]} starts without the dynamic linker of glibc`);
  return { program: all.filter((path) => path !== loader), loader };
}

/** Files of a program except the dynamic linker; a static program is one file. */
export function filesOf(command: readonly string[], folder: string, input?: string): string[] {
  const program = realpathSync(command[0]);
  const isStatic = openObject(readFileSync(program)).programHeaders.every(({ type }) => type !== PT_INTERP);
  return isStatic ? [program] : loadedFiles(command, folder, input).program;
}

/** A file and its replacement; the messages about it, and the processor time of rewriting in seconds. */
export interface Replacement {
  original: string;
  path: string;
  rewritten: Omit<Rewritten, "bytes">;
  seconds: number;
}

/** Files that one tool has rewritten, each once, in a folder. */
export class RewrittenFiles {
  readonly #folder: string;
  readonly #plan: PlanBlock;
  readonly #known = new Map<string, Replacement | undefined>();

  constructor(folder: string, plan: PlanBlock) {
    this.#folder = folder;
    this.#plan = plan;
    mkdirSync(folder);
  }

  /** Replacements of the files that can be rewritten; prints a line for each other file. */
  replacements(originals: readonly string[]): Replacement[] {
    return originals.flatMap((original) => {
      if (!this.#known.has(original)) this.#known.set(original, this.#rewrite(original));
      return this.#known.get(original) ?? [];
    });
  }

  #rewrite(original: string): Replacement | undefined {
    const file = readFileSync(original);
    const before = process.cpuUsage();
    try {
      const { bytes, ...rewritten } = rewriteFile(file, this.#plan);
      const { user, system } = process.cpuUsage(before);
      const path = join(this.#folder, `${this.#known.size} ${basename(original)}`);
      writeFileSync(path, bytes, { mode: 0o755 });
      return { original, path, rewritten, seconds: (user + system) / 1e6 };
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      console.error(`rewrite: ${original} stays as it is: ${error.message}`);
      return undefined;
    }
  }
}
