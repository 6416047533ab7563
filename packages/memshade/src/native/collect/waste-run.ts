import { existsSync, realpathSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { namedModuleOf } from "../../model/named-module.ts";
import { RUN_SCHEMA, RUN_VERSION, type RunChild, type RunEnd, type RunModule } from "../../model/run.ts";
import { MEMSHADE_VERSION } from "../../model/version.ts";
import { type FollowedFile, nativeWasteFile } from "../../tools/waste/native/read/native-waste-file.ts";
import { WASTE_FILE } from "../../tools/waste/read/waste-session.ts";
import { wasteText } from "../../tools/waste/read/waste-text.ts";
import type { RewrittenFile } from "../rewritten/rewrite-files.ts";
import type { NativeRecord, RecordedProgram } from "./recorded-run.ts";

/** What a process has left whose dead and silent stores were followed. */
export interface LeftWaste {
  /** Path of the file with what inserted code has counted. */
  counts: string;
  /** What it had mapped when somebody looked last; empty: nobody knows. */
  maps: string;
  /** An address near the upper end of its first thread's stack. */
  stackTop: number;
  program: RecordedProgram;
  /** Files that stood in the place of others. */
  rewritten: readonly RewrittenFile[];
  modules: readonly RunModule[];
  end: RunEnd;
  children: readonly RunChild[] | undefined;
  /** Sentences about what was not seen of the process. */
  unseen: readonly string[];
}

/** A run of the waste tool. Blocks are not recorded meanwhile. */
export function wasteRun({
  counts,
  maps,
  stackTop,
  program,
  rewritten: files,
  modules,
  end,
  children,
  unseen,
}: LeftWaste): NativeRecord {
  const rewritten = new Map(files.map((file) => [file.original, file]));
  const followed = modules.flatMap((module): FollowedFile[] => {
    const path = realPathOf(module);
    const file = path === undefined ? undefined : rewritten.get(path);
    if (path === undefined || file === undefined) return [];
    return [{ module: namedModuleOf(module), path, notes: file.notes }];
  });
  const options = program.tool?.options ?? {};
  const contents = nativeWasteFile(program.command, counts, followed, {
    ...options,
    ...{ maps, stackTop, programs: dirname(program.image) },
  });
  const text = wasteText(contents);
  return {
    run: {
      schema: RUN_SCHEMA,
      version: RUN_VERSION,
      memshade: MEMSHADE_VERSION,
      command: [...program.command],
      program: program.program,
      tools: { waste: { ...contents.options } },
      end,
      modules: [...modules],
      ...(children === undefined ? {} : { children: [...children] }),
      notTracked: [...unseen],
      presence: { modules: 0, shadow: bytesTaken(counts), recorded: text.length },
      files: { waste: WASTE_FILE },
    },
    files: [{ name: WASTE_FILE, contents: text }],
  };
}

const BLOCK_BYTES = 512;

/** Of a sparse file. */
export function bytesTaken(path: string): number {
  return statSync(path).blocks * BLOCK_BYTES;
}

function realPathOf({ path }: RunModule): string | undefined {
  return path !== null && path !== undefined && existsSync(path) ? realpathSync(path) : undefined;
}
