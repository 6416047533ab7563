import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { UserError } from "../ground/bytes/errors.ts";
import { originalOf } from "../record/host/profile.ts";
import { writeRunFolder } from "../record/host/run/folder-claim.ts";
import { makeOwnedFolder, removeLeftFolders } from "../record/host/run/owned-folders.ts";
import { profileFiles, type RecordedFiles } from "../record/host/run/recorder.ts";

/** A run that is given by its path, or by what `profile()` or `dump()` gave. */
export type GivenRun = string | RecordedFiles;

/**
 * Gives `use` the folders of runs, and those of their modules, which have the names and lines. Folders of profiles in memory are
 * there for as long as that takes.
 */
export async function withFolders<T>(
  runs: readonly GivenRun[],
  use: (folders: readonly string[], modules: readonly string[]) => Promise<T>,
): Promise<T> {
  runs.forEach(assertRun);
  removeLeftFolders(tmpdir(), "runs");
  const parent = makeOwnedFolder(tmpdir(), "runs");
  const folders = runs.map((run, index) => (typeof run === "string" ? run : join(parent, `${index}`)));
  try {
    const modules: string[] = [];
    for (const [index, run] of runs.entries()) {
      if (typeof run === "string") continue;
      writeRunFolder(folders[index]!, profileFiles(run));
      const original = originalOf(run.run);
      if (original === undefined) continue;
      const folder = join(parent, `modules-${index}`);
      mkdirSync(folder);
      writeFileSync(join(folder, basename(original.name)), original.bytes);
      modules.push(folder);
    }
    return await use(folders, modules);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    // Nobody has named these folders, and they are gone when somebody reads of them.
    const told = runs.reduce<string>(
      (text, run, index) => text.replaceAll(folders[index]!, nameOfRun(run)),
      error.message,
    );
    throw new UserError(told);
  } finally {
    rmSync(parent, { recursive: true, force: true });
  }
}

/** Programs without types may give anything. */
function assertRun(run: GivenRun | undefined): void {
  if (typeof run === "string" || (run as Partial<RecordedFiles> | undefined)?.run?.files !== undefined)
    return;
  throw new UserError("a run should be given by its folder or file, or by what profile() gave");
}

/** How a run is called in messages. */
export function nameOfRun(run: GivenRun): string {
  return typeof run === "string" ? run : `the profile of ${run.run.program}`;
}
