import { existsSync, realpathSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { loadObject } from "../../../names/load/objects.ts";
import { type Bound, boundsMember } from "../../../profile/model/bound.ts";
import { namedModuleOf } from "../../../profile/model/named-module.ts";
import {
  RUN_SCHEMA,
  RUN_VERSION,
  type RunChild,
  type RunEnd,
  type RunModule,
} from "../../../profile/model/run.ts";
import { MEMSHADE_VERSION } from "../../../profile/model/version.ts";
import { Node } from "../../tools/heap/layout.ts";
import { WASTE_FILE } from "../../tools/waste/read/waste-session.ts";
import { wasteText } from "../../tools/waste/read/waste-text.ts";
import { Place } from "../layout.ts";
import type { RewrittenFile } from "../rewritten/rewrite-files.ts";
import { type FollowedFile, hasRun, nativeWaste } from "../tools/waste/read/native-waste-file.ts";
import type { NativeRecord, RecordedProgram } from "./left-behind.ts";
import type { ProcessModule } from "./modules.ts";
import { describeModule } from "./run-modules.ts";

/** What a process has left whose dead and silent stores were followed. */
export interface LeftWaste {
  /** Path of the file with what inserted code has counted. */
  counts: string;
  /** Its memory, and the modules that its sites are of; their order is that of `modules`. */
  memory: SharedArrayBuffer;
  places: readonly ProcessModule[];
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
  /** What recording may take of memory, bytes. */
  memoryLimit: number;
  /** Sentences about what was not seen of the process. */
  unseen: readonly string[];
  bounds: Bound[];
}

/** A run of the waste tool. Blocks are not recorded meanwhile. */
export function wasteRun({
  counts,
  memory,
  places,
  maps,
  stackTop,
  program,
  rewritten: files,
  modules: met,
  end,
  children,
  memoryLimit,
  unseen,
  bounds,
}: LeftWaste): Omit<NativeRecord, "readAsData"> {
  const rewritten = new Map(files.map((file) => [file.original, file]));
  const modules = [...met, ...unmet(files, met, counts, program.file)];
  // What was loaded several times has one set of counters.
  const counted = new Set<string>();
  const followed = modules.flatMap((module): FollowedFile[] => {
    const path = realPathOf(module);
    const file = path === undefined ? undefined : rewritten.get(path);
    if (path === undefined || file === undefined || counted.has(path)) return [];
    counted.add(path);
    return [{ module: namedModuleOf(module), path, notes: file.notes }];
  });
  const options = program.tool?.options ?? {};
  const { file: contents, bounds: ofFile } = nativeWaste(program.command, counts, followed, {
    ...options,
    maps,
    stackTop,
    programs: dirname(program.image),
    callersOf: (node) => callersOf(memory, places, node),
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
      modules,
      ...(children === undefined ? {} : { children: [...children] }),
      notTracked: [...unseen],
      ...boundsMember([...bounds, ...ofFile]),
      presence: { modules: 0, shadow: bytesTaken(counts), recorded: text.length, limit: memoryLimit },
      files: { waste: WASTE_FILE },
    },
    files: [{ name: WASTE_FILE, contents: text }],
  };
}

/** Files whose code ran in a process that ended before it could tell of them: it has loaded them late, and ended by `_exit` or a signal. */
function unmet(
  files: readonly RewrittenFile[],
  met: readonly RunModule[],
  counts: string,
  program: string,
): RunModule[] {
  const known = new Set(met.map((module) => realPathOf(module)));
  return files
    .filter(({ original, notes }) => !known.has(original) && hasRun(counts, notes))
    .map(({ original }, i) => {
      const buildId = loadObject(original).object.buildId ?? "";
      const nowhere = { start: 0, end: 0, address: 0, bias: 0, mark: 0, tableKey: "", isObject: true };
      return describeModule({ ...nowhere, name: original, buildId }, met.length + i, program, undefined);
    });
}

/** Calls that lead to a node of the calling context tree. What stands in front of the program's functions is left out. */
function callersOf(
  memory: SharedArrayBuffer,
  places: readonly ProcessModule[],
  node: number,
): { module: number; address: number }[] {
  const view = new DataView(memory);
  const calls: { module: number; address: number }[] = [];
  for (let at = view.getUint32(node + Node.parent, true); at !== Place.nodes; ) {
    const site = view.getUint32(at + Node.site, true);
    const module = places.findIndex(({ start, end }) => site >= start && site < end);
    if (module >= 0) calls.push({ module, address: site - places[module].start + places[module].address });
    at = view.getUint32(at + Node.parent, true);
  }
  return calls;
}

const BLOCK_BYTES = 512;

/** Of a sparse file. */
export function bytesTaken(path: string): number {
  return statSync(path).blocks * BLOCK_BYTES;
}

function realPathOf({ path }: RunModule): string | undefined {
  return path !== null && path !== undefined && existsSync(path) ? realpathSync(path) : undefined;
}
