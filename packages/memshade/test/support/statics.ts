import { type StaticObject, type StaticsReport, staticsReport } from "../../src/explain/analyses/statics.ts";
import { readStatics, type StaticsFile, type StaticVariable } from "../../src/profile/model/statics.ts";
import type { Profiled } from "./profiled.ts";

/** Recorded static data of a run, as a reader of the file gets it. */
export function staticsOf(profiled: Profiled): StaticsFile {
  const { statics } = profiled.snapshot();
  if (statics === undefined) throw new RangeError("nothing is known of the static data");
  return readStatics(JSON.stringify(statics));
}

/** @param variables variables of module 0 in debug information */
export function reportOf(
  profiled: Profiled,
  variables: readonly Pick<StaticVariable, "name" | "address" | "bytes">[] = [],
): StaticsReport {
  const described = variables.map((variable) => ({
    ...variable,
    linkageName: undefined,
    file: undefined,
    line: 0,
  }));
  return staticsReport({
    file: staticsOf(profiled),
    variables: new Map([[0, described]]),
    modules: ["module"],
  });
}

export function cellsOf(profiled: Profiled): Record<number, number> {
  const found: Record<number, number> = {};
  for (const { cellBytes, runs } of staticsOf(profiled).modules)
    for (const { address, cells } of runs)
      cells.forEach((cell, index) => {
        found[address + index * cellBytes] = cell;
      });
  return found;
}

export function named({ objects }: StaticsReport, name: string): StaticObject {
  const found = objects.find((object) => object.name === name);
  if (found === undefined) throw new RangeError(`no ${name} among ${objects.map((object) => object.name)}`);
  return found;
}
