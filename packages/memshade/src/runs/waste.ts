import fs from "node:fs";
import path from "node:path";
import { markWaste } from "../explain/analyses/frames/mark-frames.ts";
import { UserError } from "../ground/bytes/errors.ts";
import { describeSystemError } from "../ground/bytes/system-errors.ts";
import { loadDemangler } from "../names/load/demangler.ts";
import { readRegular } from "../names/load/file.ts";
import { readableWaste } from "../names/symbolize/readable-profiles.ts";
import { ambiguousNames, type NamedModule } from "../profile/model/named-module.ts";
import { RUN_FILE, type Run, type RunModule } from "../profile/model/run.ts";
import { MODULE_SPAN, placesOf, readWaste, type WasteFile, type WasteIp } from "../profile/model/waste.ts";
import { runOf } from "./run-of-folder.ts";
import { type OriginalPlaces, RunSymbols } from "./run-symbols.ts";
import type { OwnCode } from "./suppressions.ts";

const WASTE_FILE = "waste.json";

/**
 * Reads the waste of a run's directory, its `run.json` or a `waste.json`. Places without a recorded line are
 * resolved in the original modules, which may also have source maps and separate debug files.
 *
 * @returns undefined for a run without the waste tool, or a profile of another kind
 * @throws UserError in one line if the input does not exist or is damaged
 */
export function loadWaste(
  input: string,
  { rules, ...places }: OriginalPlaces & OwnCode = {},
): WasteFile | undefined {
  const file = wasteFileOf(input);
  if (file === undefined) {
    if (!fs.existsSync(input)) throw new UserError(`${input}: there is no such file or directory`);
    return undefined;
  }
  let waste: WasteFile;
  try {
    waste = readableWaste(readWaste(readRegular(file).toString()), loadDemangler());
  } catch (error) {
    if (error instanceof UserError) throw new UserError(`${file}: ${error.message}`);
    throw new UserError(`${file} cannot be read: ${describeSystemError(error)}`);
  }
  const folder = folderOf(input);
  const run = folder === undefined ? undefined : runOf(folder);
  if (run !== undefined) {
    addLines(waste, run.modules, places);
    waste.notTracked.push(...run.notTracked.filter((sentence) => !waste.notTracked.includes(sentence)));
  }
  addModules(waste, run?.modules ?? waste.modules ?? []);
  if (rules !== undefined) markWaste(waste, rules, isOfScript(run) ? run?.modules : []);
  return waste;
}

function isOfScript(run: Run | undefined): boolean {
  return run?.command[0] !== undefined && !run.command[0].endsWith(".wasm");
}

function addLines(waste: WasteFile, modules: readonly RunModule[], places: OriginalPlaces): void {
  const symbols = new RunSymbols(places, modules);
  const symbolsOfModule = new Map<number, ReturnType<RunSymbols["symbolsOf"]>>();
  const indexOf = ({ address }: WasteIp): number => Math.floor(address / MODULE_SPAN);
  // A module with recorded lines had its debug information then, and no other file has more.
  const described = new Set(placesOf(waste).flatMap((ip) => (ip.file === undefined ? [] : indexOf(ip))));
  for (const ip of placesOf(waste)) {
    const index = indexOf(ip);
    const module = modules[index];
    if (described.has(index) || module === undefined || ip.address % MODULE_SPAN === 0) continue;
    if (!symbolsOfModule.has(index)) symbolsOfModule.set(index, symbols.symbolsOf(module));
    const [innermost, ...outer] = symbolsOfModule.get(index)?.frames(ip.address % MODULE_SPAN) ?? [];
    if (innermost?.file === undefined || innermost.line === 0) continue;
    ip.file = innermost.file;
    ip.line = innermost.line;
    if (innermost.function !== undefined) ip.function = innermost.function;
    if (innermost.handsOutMemory) ip.handsOutMemory = true;
    if (innermost.approximate) ip.approximate = true;
    if (outer.length > 0)
      ip.inlined = outer.map(({ function: name, file, line, handsOutMemory, approximate }) => ({
        function: name,
        file,
        line,
        ...(handsOutMemory ? { handsOutMemory } : {}),
        ...(approximate ? { approximate } : {}),
      }));
  }
  waste.notTracked.push(...symbols.missing, ...symbols.advice());
}

/** Adds the module's name to functions without a name, and to functions whose name several modules have. */
function addModules(waste: WasteFile, modules: readonly NamedModule[]): void {
  if (modules.length < 2) return;
  const names = new Map(modules.map(({ index, name }) => [index, name]));
  const indexOf = ({ address }: WasteIp): number => Math.floor(address / MODULE_SPAN);
  const ambiguous = ambiguousNames(placesOf(waste).map((ip) => [indexOf(ip), ip.function ?? ""]));
  for (const ip of placesOf(waste)) {
    const isSource = ip.address % MODULE_SPAN !== 0 && ip.file !== undefined;
    const { function: name = "" } = ip;
    if (!isSource && (/^func\[\d+\]$/.test(name) || ambiguous.has(name))) ip.module = names.get(indexOf(ip));
  }
}

export function hasWaste(input: string): boolean {
  return wasteFileOf(input) !== undefined;
}

function wasteFileOf(input: string): string | undefined {
  if (path.basename(input) === WASTE_FILE && fs.existsSync(input)) return input;
  const folder = folderOf(input);
  const name = folder === undefined ? undefined : runOf(folder)?.files.waste;
  if (folder === undefined || name === undefined) return undefined;
  const file = path.join(folder, path.basename(name));
  if (!fs.existsSync(file)) throw new UserError(`${input} is incomplete: ${path.basename(name)} is missing`);
  return file;
}

function folderOf(input: string): string | undefined {
  const status = fs.statSync(input, { throwIfNoEntry: false });
  if (status?.isDirectory()) return input;
  return status !== undefined && path.basename(input) === RUN_FILE ? path.dirname(input) : undefined;
}
