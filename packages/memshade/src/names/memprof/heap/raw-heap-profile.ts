import { dirname } from "node:path";
import type { ByteSource } from "../../../ground/bytes/byte-source.ts";
import { UserError } from "../../../ground/bytes/errors.ts";
import { lastVersion, scanDumps } from "../../../profile/formats/memprof-raw/index.ts";
import { counted } from "../../../profile/model/counted.ts";
import type { HeapProfile, ProfileModule } from "../../../profile/model/heap-profile.ts";
import { InstalledObjects } from "../../load/installed-objects.ts";
import { type BinaryPlaces, noBinary, ProfiledBinaries } from "../binaries.ts";
import { CodeModules } from "./code-modules.ts";
import { areOfSystem, DumpRows } from "./dump-rows.ts";

/** MemProf's counters of granules stop at this number, for each block. */
const COUNTER_LIMIT = 255;

/** So many build ids of missing modules are told. */
const MOST_TOLD = 4;

/**
 * The tables of a raw profile without a run. All of its blocks are in them: what has no name is shown as the place that
 * it is. Each dump is read with its own segments, as a file may have those of several processes.
 *
 * @param file its name; binaries are looked for beside it too
 * @throws UserError if binaries were named, of other programs, and the right one is nowhere
 */
export function rawHeapProfile(file: string, source: ByteSource, places: BinaryPlaces): HeapProfile {
  const dumps = scanDumps(source);
  const named = new ProfiledBinaries(places);
  const installed = new InstalledObjects([dirname(file), "."]);
  const code = new CodeModules(named, installed, places.searchPaths);
  const rows = new DumpRows(code);
  for (const dump of dumps) rows.add(dump);
  const missing = code.all.filter(({ isFound, isShown }) => !isFound && isShown);
  const areNamed = places.binaries.length + places.searchPaths.length > 0;
  const isNamedInVain = areNamed && code.all.length > 0 && !code.all.some(({ isNamed }) => isNamed);
  if (isNamedInVain && missing.some(({ isProgram }) => isProgram)) {
    const buildIds = missing.map((module) => module.describe().buildId || "<None>");
    throw new UserError(noBinary(buildIds, named));
  }
  const isNative = dumps.some(({ segments }) => areOfSystem(segments));
  return rows.build({
    clock: { kind: "wall", unit: "ms" },
    granuleBytes: 8,
    rawVersion: lastVersion(source),
    ...(isNative ? { counterLimit: COUNTER_LIMIT } : {}),
    notTracked: [
      ...(isNative ? [] : [NO_RUN]),
      ...(isNamedInVain
        ? [
            "What --binary-path names is none of this profile's modules: names are of binaries found elsewhere.",
          ]
        : []),
      ...missingInWords(missing.map((module) => ({ ...module.describe(), isProgram: module.isProgram }))),
      ...(rows.repeatedDumps === 0
        ? []
        : [
            "There are several dumps of one process: a block that was live at one of them is counted in it, and again later.",
          ]),
      ...(rows.sizeless > 0
        ? [
            `MemProf records sizes modulo 4 GiB: ${counted(rows.sizeless, "call path has a block", "call paths have blocks")} ` +
              "of 4 GiB or a multiple, recorded as 0 B.",
          ]
        : []),
      "Peak and leaks are not known: MemProf does not record them.",
      ...(dumps.every(({ length }) => length === 0) ? ["There is nothing in this profile."] : []),
    ],
  });
}

const NO_RUN =
  "This is a raw profile without its run.json: functions that no file names are shown as build id + offset of their " +
  "code, and times are taken for milliseconds.";

function missingInWords(missing: readonly (ProfileModule & { readonly isProgram: boolean })[]): string[] {
  const list = (modules: readonly ProfileModule[]) => {
    const told = modules.slice(0, MOST_TOLD).map(({ buildId }) => buildId || "none");
    const more = modules.length > MOST_TOLD ? ` and ${modules.length - MOST_TOLD} more` : "";
    return told.join(", ") + more;
  };
  const programs = missing.filter(({ isProgram }) => isProgram);
  const libraries = missing.filter(({ isProgram }) => !isProgram);
  return [
    ...(programs.length === 0
      ? []
      : [
          `${counted(programs.length, "program was", "programs were")} not found (build id ${list(programs)}): ` +
            "--binary-path names the program, or a folder with it. Its functions are shown as [build id]+offset.",
        ]),
    ...(libraries.length === 0
      ? []
      : [
          `${counted(libraries.length, "library was", "libraries were")} not found (build id ${list(libraries)}): ` +
            "frames in it are shown as [build id]+offset (--binary-path names it, or a folder with it).",
        ]),
  ];
}
