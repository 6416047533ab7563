import { existsSync, realpathSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { UserError } from "../../../ground/bytes/errors.ts";
import { loadObject } from "../../../names/load/objects.ts";
import { namedModuleOf } from "../../../profile/model/named-module.ts";
import type { RunModule } from "../../../profile/model/run.ts";
import { Node } from "../../tools/heap/layout.ts";
import { WASTE_FILE, wasteText } from "../../tools/waste/read/waste-file.ts";
import { Header, Place } from "../layout.ts";
import type { RewrittenFile } from "../rewritten/rewrite-files.ts";
import { type FollowedFile, hasRun, nativeWaste } from "../tools/waste/read/native-waste-file.ts";
import type { ProcessModule } from "./modules.ts";
import { describeModule } from "./run-modules.ts";
import type { ToolReader } from "./tool-reader.ts";

/** The waste tool's part. Blocks are not recorded meanwhile. */
export const WASTE_READER: ToolReader = {
  hasCounts: true,
  withoutBlocks: true,

  read({ left, view, modules: places, described, program, rewritten: files, originalOf }) {
    const { counts, memory, maps = "" } = left;
    if (counts === undefined || view.getUint32(Header.countersFailure, true) !== 0)
      throw new UserError(NOT_SHARED);
    const modules = [...described, ...unmet(files, described, counts, program.file)];
    const { file: contents, bounds } = nativeWaste(program.command, counts, followedFiles(modules, files), {
      ...program.tool?.options,
      maps,
      stackTop: Number(view.getBigUint64(Header.stackTop, true)),
      programs: dirname(program.image),
      callersOf: (context) =>
        program.tool?.options.contexts === true
          ? callersOf(memory, places, context)
          : callAt(places, originalOf(context)),
    });
    return {
      modules,
      gaps: [],
      part: {
        tools: { waste: { ...contents.options } },
        files: [{ member: "waste", name: WASTE_FILE, contents: wasteText(contents) }],
        shadowBytes: bytesTaken(counts),
        bounds,
      },
    };
  },
};

const NOT_SHARED =
  "the program could make no file to share by what it counts: a limit of file sizes, a sandbox, or no room in /dev/shm";

/** Files that stood in the place of others, with their modules. What was loaded several times has one set of counters. */
function followedFiles(modules: readonly RunModule[], files: readonly RewrittenFile[]): FollowedFile[] {
  const rewritten = new Map(files.map((file) => [file.original, file]));
  const counted = new Set<string>();
  return modules.flatMap((module): FollowedFile[] => {
    const path = realPathOf(module);
    const file = path === undefined ? undefined : rewritten.get(path);
    if (path === undefined || file === undefined || counted.has(path)) return [];
    counted.add(path);
    return [{ module: namedModuleOf(module), path, notes: file.notes }];
  });
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

interface Call {
  module: number;
  address: number;
}

/** Calls that lead to a node of the calling context tree. What stands in front of the program's functions is left out. */
function callersOf(memory: SharedArrayBuffer, places: readonly ProcessModule[], node: number): Call[] {
  const view = new DataView(memory);
  const calls: Call[] = [];
  for (let at = view.getUint32(node + Node.parent, true); at !== Place.nodes; ) {
    calls.push(...callAt(places, view.getUint32(at + Node.site, true)));
    at = view.getUint32(at + Node.parent, true);
  }
  return calls;
}

/** The call that has a site; none where that is in front of the program's functions. */
function callAt(places: readonly ProcessModule[], site: number): Call[] {
  const module = places.findIndex(({ start, end }) => site >= start && site < end);
  return module < 0 ? [] : [{ module, address: site - places[module].start + places[module].address }];
}

const BLOCK_BYTES = 512;

/** Of a sparse file. */
export function bytesTaken(path: string): number {
  return statSync(path).blocks * BLOCK_BYTES;
}

function realPathOf({ path }: RunModule): string | undefined {
  return path !== null && path !== undefined && existsSync(path) ? realpathSync(path) : undefined;
}
