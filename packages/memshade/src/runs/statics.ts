import fs from "node:fs";
import path from "node:path";
import { type StaticsReport, staticsReport } from "../explain/analyses/statics.ts";
import { UserError } from "../ground/bytes/errors.ts";
import { describeSystemError } from "../ground/bytes/system-errors.ts";
import { loadDemangler } from "../names/load/demangler.ts";
import { readRegular } from "../names/load/file.ts";
import {
  type NamedStatics,
  readStatics,
  type StaticSymbol,
  type StaticsOfModule,
} from "../profile/model/statics.ts";
import { runOf } from "./run-of-folder.ts";
import { type OriginalPlaces, RunSymbols } from "./run-symbols.ts";

/**
 * Loads the static data of a run by variable, given by its folder, its `run.json` or its heap profile;
 * undefined if there is none.
 *
 * @throws UserError in one line if its file is missing or damaged
 */
export function loadStatics(input: string, places: OriginalPlaces = {}): StaticsReport | undefined {
  const named = loadNamedStatics(input, places);
  return named && staticsReport(named);
}

/** Demangles symbols. Tables of C++ types, among others, have mangled names in the module. */
function demangled({ symbols, ...module }: StaticsOfModule): StaticsOfModule {
  const demangle = loadDemangler();
  return {
    ...module,
    symbols: symbols.map((symbol) => ({ ...symbol, ...named(symbol.name, demangle(symbol.name)) })),
  };
}

function named(linkageName: string, name: string): Pick<StaticSymbol, "name" | "linkageName"> {
  return name === linkageName ? { name } : { name, linkageName };
}

/** Loads the recorded static data with the variables of debug information. */
export function loadNamedStatics(input: string, places: OriginalPlaces = {}): NamedStatics | undefined {
  const isFolder = fs.statSync(input, { throwIfNoEntry: false })?.isDirectory() === true;
  const folder = isFolder ? input : path.dirname(input);
  const run = runOf(folder);
  if (run?.files.statics === undefined) return undefined;
  if (!isFolder && !["run.json", run.files.heap].includes(path.basename(input))) return undefined;
  const name = path.join(folder, path.basename(run.files.statics));
  if (!fs.existsSync(name)) throw new UserError(`${input} is incomplete: ${path.basename(name)} is missing`);
  try {
    const file = readStatics(readRegular(name).toString());
    const symbols = new RunSymbols(places);
    const knownModules = file.modules.flatMap(({ module }) => run.modules[module] ?? []);
    return {
      file: { ...file, modules: file.modules.map(demangled) },
      variables: new Map(knownModules.map((module) => [module.index, symbols.dataVariablesOf(module)])),
      modules: run.modules.map((module) => module.name),
    };
  } catch (error) {
    if (error instanceof UserError) throw new UserError(`${name}: ${error.message}`);
    throw new UserError(`${name} cannot be read: ${describeSystemError(error)}`);
  }
}
