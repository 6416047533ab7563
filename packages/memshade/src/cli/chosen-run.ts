import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { UserError } from "../ground/bytes/errors.ts";
import { DEFAULT_RUNS_FOLDER } from "../profile/model/run.ts";
import { quoteForShell } from "../profile/model/shell-words.ts";
import { say } from "../record/host/run/terminal-line.ts";
import { runOf, settleRun } from "../runs/run-of-folder.ts";
import { isModule, verbFor } from "./kind-of-program.ts";

/**
 * Returns the named run, or else the newest run in the default folder, and prints which one.
 *
 * @throws UserError in one line if there is no run, or a program was named
 */
export async function chosenRun(named: string | undefined): Promise<string> {
  if (named !== undefined) return namedRun(named);
  const [newest] = runsByAge();
  if (newest === undefined)
    throw new UserError(
      `no run was named and none is in ${DEFAULT_RUNS_FOLDER}: record one with memshade run program.wasm or memshade node script.js`,
    );
  say(`the newest run: ${newest}`);
  return newest;
}

/**
 * Returns the named runs of two sides; commas separate several runs of a side. If none is named, returns the
 * two newest runs of one program, the older one first, and prints which ones.
 *
 * @throws UserError as `chosenRun`, and if only one side is named
 */
export async function chosenSides(
  older: string | undefined,
  newer: string | undefined,
): Promise<{ old: string[]; new: string[] }> {
  if (older !== undefined && newer !== undefined)
    return { old: await namedRuns(older), new: await namedRuns(newer) };
  if (older !== undefined)
    throw new UserError(
      `only one run was named: memshade diff ${quoteForShell(older)} NEW, or none for the two newest of one program`,
    );
  const newestOf = new Map<string, string>();
  for (const folder of runsByAge()) {
    const program = runOf(folder)!.program;
    const newest = newestOf.get(program);
    if (newest !== undefined) {
      say(`the two newest runs of ${program}: ${folder} and ${newest}`);
      return { old: [folder], new: [newest] };
    }
    newestOf.set(program, folder);
  }
  throw new UserError(
    `no runs were named and no two of one program are in ${DEFAULT_RUNS_FOLDER}: memshade diff OLD NEW compares any two`,
  );
}

/** Splits at commas unless the whole text names a file, because a file name may contain a comma. */
async function namedRuns(inputs: string): Promise<string[]> {
  const names = existsSync(inputs) ? [inputs] : inputs.split(",");
  if (names.includes(""))
    throw new UserError(
      `"${inputs}" has an empty name before or after a comma: write several runs as A1,A2,A3`,
    );
  const runs: string[] = [];
  for (const name of names) runs.push(await namedRun(name));
  return runs;
}

async function namedRun(input: string): Promise<string> {
  await settleRun(input);
  const verb = verbFor(input);
  // The reader of the run says what another file with a module's name is.
  if (verb === undefined || (verb === "run" && !isModule(input))) return input;
  throw new UserError(
    `${input} is a program, not a recorded run: record one with: memshade ${verb} ${quoteForShell(input)}`,
  );
}

/** Returns the runs in the default folder, newest first. */
function runsByAge(): string[] {
  let names: string[] = [];
  try {
    names = readdirSync(DEFAULT_RUNS_FOLDER);
  } catch {
    // The folder does not exist, or a file of that name is there.
  }
  return names
    .map((name) => join(DEFAULT_RUNS_FOLDER, name))
    .map((folder) => ({
      folder,
      time: statSync(join(folder, "run.json"), { throwIfNoEntry: false })?.mtimeMs,
    }))
    .filter((run): run is { folder: string; time: number } => run.time !== undefined)
    .sort((first, second) => second.time - first.time || (first.folder < second.folder ? 1 : -1))
    .map(({ folder }) => folder);
}
