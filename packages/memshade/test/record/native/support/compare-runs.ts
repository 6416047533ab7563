import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { readRaw } from "../../../../src/profile/formats/memprof-raw/index.ts";
import { Site } from "../../../../src/record/native/layout.ts";
import { runIn } from "./record.ts";

/** Allocations and bytes of each calling context of a run. Frames are file offsets, so that they do not depend on load addresses. */
export function contextsIn(folder: string): Map<string, string> {
  const run = runIn(folder);
  const modules = run.modules.map(({ name, path, start = "0x0", codeBytes, object }) => ({
    name: basename(path ?? name),
    start: Number(start),
    end: Number(start) + codeBytes,
    address: object?.kind === "elf" ? object.address : 0,
  }));
  const placeOf = (pc: number): string => {
    if (pc < Site.first) return "outermost frames are missing";
    const module = modules.find(({ start, end }) => pc >= start && pc < end);
    return module === undefined
      ? `nowhere ${pc}`
      : `${module.name}+${(pc - module.start + module.address).toString(16)}`;
  };
  const { contexts } = readRaw(readFileSync(join(folder, run.files.heap!)));
  return new Map(
    contexts.map(({ pcs, mib }): [string, string] => [
      pcs.map((pc) => placeOf(Number(pc))).join(" "),
      `${mib.allocCount} of ${mib.totalSize} bytes`,
    ]),
  );
}
