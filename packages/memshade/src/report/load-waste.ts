import fs from "node:fs";
import path from "node:path";
import { UserError } from "../bytes/errors.ts";
import { readRun } from "../model/read-run.ts";
import { readWaste } from "../model/read-waste.ts";
import type { WasteFile, WasteFrame, WasteIp } from "../model/waste.ts";
import { loadDemangler } from "./load-demangler.ts";

const RUN_FILE = "run.json";
const WASTE_FILE = "waste.json";

/**
 * Reads the waste of a run's directory, its `run.json` or a `waste.json`.
 *
 * @returns undefined where the input is something else, or a run without the waste tool
 * @throws UserError in one line for a damaged file
 */
export function loadWaste(input: string): WasteFile | undefined {
  const file = wasteFileOf(input);
  if (file === undefined) return undefined;
  try {
    return demangled(readWaste(fs.readFileSync(file, "utf8")));
  } catch (error) {
    if (error instanceof UserError) throw new UserError(`${file}: ${error.message}`);
    throw new UserError(`${file} cannot be read: ${(error as Error).message}`);
  }
}

/** Whether the run (or the file) holds waste. */
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

function runOf(folder: string) {
  const file = path.join(folder, RUN_FILE);
  if (!fs.existsSync(file)) return undefined;
  try {
    return readRun(fs.readFileSync(file, "utf8"));
  } catch (error) {
    throw new UserError(`${file}: ${(error as Error).message}`);
  }
}

/** Names for people. */
function demangled(file: WasteFile): WasteFile {
  const demangle = loadDemangler();
  const readable = (ip: WasteIp | WasteFrame): void => {
    if (ip.function !== undefined) ip.function = demangle(ip.function);
    if ("inlined" in ip) ip.inlined?.forEach(readable);
  };
  const sites = [...file.stores, ...file.loads, ...(file.objects ?? []), ...(file.ends ?? [])];
  for (const { ips } of sites) ips.forEach(readable);
  return file;
}
