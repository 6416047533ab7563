import { mkdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import type { NativeToolName } from "../../packages/memshade/src/record/native/native-tool.ts";
import { isRewritten } from "../../packages/memshade/src/record/native/rewritten/rewrite-files.ts";
import { substitute } from "../../packages/memshade/src/record/native/rewritten/rewritten-run.ts";
import { checkProgram } from "../../packages/memshade/src/record/native/start/check-program.ts";
import { neededObjects } from "../../packages/memshade/src/record/native/start/needed-objects.ts";
import { inPlaceOf } from "../rewrite/namespace.ts";
import { loadedFiles, type RewrittenFiles } from "../rewrite/rewritten-files.ts";

/** Launchers that start a command with replaced files. Nothing is preloaded or recorded. */
export interface InPlace {
  /** Launcher with rewritten files, without inserted code. */
  rewritten: string[];
  /** Launcher with a tool's code inserted. */
  inserted: string[];
}

/** @param folder parent of a new folder @param plain rewrites with nothing inserted */
export async function inPlace(
  [program, ...args]: readonly string[],
  input: string | undefined,
  folder: string,
  { tool, plain }: { tool: NativeToolName; plain: RewrittenFiles },
): Promise<InPlace> {
  const path = realpathSync(program);
  const instead = join(folder, `inserted-${tool}-${path.replaceAll("/", "-")}`);
  mkdirSync(instead);
  const checked = checkProgram(path);
  const objects = neededObjects(checked).flatMap(({ path }) => (path.startsWith("/") ? [path] : []));
  const { files } = await substitute({
    program: path,
    linker: checked.linker,
    objects,
    tool,
    options: {},
    folder: instead,
  });
  for (const { original, facts } of files)
    if ("refused" in facts) console.error(`native: ${original} has nothing inserted: ${facts.refused}`);
  const loader = { original: realpathSync(checked.linker), path: join(instead, "loader") };
  return {
    rewritten: inPlaceOf(plain.replacements(loadedFiles([path, ...args], folder, input).program)),
    inserted: inPlaceOf([loader, ...files.filter(isRewritten)]),
  };
}
