import { lstatSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import type { Command } from "commander";
import { UserError } from "../../ground/bytes/errors.ts";
import { formatBytes } from "../../profile/model/format.ts";
import { cacheFolder, cachesOf, MODULES } from "../../record/host/run/cache-folder.ts";
import { type KeptEntry, keptEntries, MOST_MODULE_BYTES } from "../../record/host/run/kept-files.ts";
import { isOwn } from "../../record/host/run/own-files.ts";
import { say } from "../../record/host/run/terminal-line.ts";
import {
  ENTRY,
  type Entry,
  MOST_REWRITTEN_BYTES,
  REWRITTEN,
} from "../../record/native/rewritten/rewritten-cache.ts";
import { writePieces } from "../../runs/output.ts";
import { displayWidth, padLeft, padRight, printable } from "../../show/report/terminal/common/text.ts";

const EXAMPLES = `
Examples:
  memshade cache list
  memshade cache clear
  memshade run --no-cache program.wasm

run, node and browser rewrite each program once, and later runs take the result
from the cache. It needs no care: of each kind, the least recently used entries
go when others need their room, damaged ones are made again, and new versions of
memshade make their own. XDG_CACHE_HOME moves it.`;

export function addCacheCommand(program: Command): void {
  const cache = program
    .command("cache")
    .summary("show or clear the rewritten programs that later runs use")
    .description(
      "Shows or clears what memshade caches between runs: rewritten programs, tables, its own code.",
    )
    .addHelpText("after", EXAMPLES);
  cache
    .command("list", { isDefault: true })
    .description("Lists the rewritten WebAssembly modules and native files, and the size of all the rest.")
    .allowExcessArguments()
    .action((_options: unknown, { args: [word] }: Command) => {
      if (word !== undefined)
        throw new UserError(`cache has no command '${word}': memshade cache --help lists its commands`);
      return writePieces(undefined, [listing(cachesOf(process))]);
    });
  cache
    .command("clear")
    .description("Removes all that is cached. Runs that are going on continue.")
    .action(() => clear(cachesOf(process)));
}

/** Kinds of entries that are listed one by one: folder, title, largest size, and the words of an entry. */
const LISTED: readonly {
  folder: string;
  title: string;
  mostBytes: number;
  wordsOf: (entry: KeptEntry) => readonly [tool: string, name: string];
}[] = [
  {
    folder: MODULES,
    title: "Rewritten WebAssembly modules",
    mostBytes: MOST_MODULE_BYTES,
    wordsOf: moduleWords,
  },
  {
    folder: join(basename(cacheFolder()), REWRITTEN),
    title: "Rewritten native programs and libraries",
    mostBytes: MOST_REWRITTEN_BYTES,
    wordsOf: nativeWords,
  },
];

/** Words in the name of a module's file: see `ModuleCache`. */
function moduleWords({ path }: KeptEntry): [string, string] {
  const [, tools = "", name = ""] = basename(path).split(" ");
  return [tools.replaceAll("+", ", "), name];
}

function nativeWords({ path }: KeptEntry): [string, string] {
  try {
    const { about } = JSON.parse(readFileSync(join(path, ENTRY), "utf8")) as Pick<Entry, "about">;
    return [about?.tool ?? "", printable(about?.file ?? "")];
  } catch {
    // The entry is being written or removed.
    return ["", ""];
  }
}

function listing(caches: string): string {
  const all = leafFolders(caches).flatMap(keptEntries);
  const lines = [`${caches}: ${sizeOf(all)}`];
  let listed: KeptEntry[] = [];
  for (const { folder, title, mostBytes, wordsOf } of LISTED) {
    const entries = keptEntries(join(caches, folder));
    listed = [...listed, ...entries];
    if (entries.length === 0) continue;
    lines.push("", `${title}: ${sizeOf(entries)} of at most ${formatBytes(mostBytes)}`);
    const rows = entries.map((entry) => [formatBytes(entry.bytes), ageOf(entry.usedMs), ...wordsOf(entry)]);
    lines.push(...aligned([["size", "used", "tool", "name"], ...rows]));
  }
  const paths = new Set(listed.map(({ path }) => path));
  const others = all.filter(({ path }) => !paths.has(path));
  if (others.some(({ bytes }) => bytes > 0))
    lines.push("", `Unwind tables, lists, and memshade's compiled code: ${sizeOf(others)}`);
  return `${lines.join("\n")}\n`;
}

function clear(caches: string): void {
  if (lstatSync(caches, { throwIfNoEntry: false }) !== undefined && !isOwn(caches))
    throw new UserError(`${caches} belongs to another user, or can be written to by others`);
  // An entry that is being written stays, because the run that writes it would fail.
  const entries = leafFolders(caches)
    .flatMap(keptEntries)
    .filter(({ isPartial }) => !isPartial);
  for (const { path } of entries) rmSync(path, { recursive: true, force: true });
  say(`${sizeOf(entries)} removed from ${caches}`);
}

/** Returns the folders that hold entries. */
function leafFolders(caches: string): string[] {
  const native = join(caches, basename(cacheFolder()));
  return [...foldersIn(caches).filter((folder) => folder !== native), ...foldersIn(native)];
}

function foldersIn(folder: string): string[] {
  try {
    return readdirSync(folder).map((name) => join(folder, name));
  } catch {
    // The folder does not exist.
    return [];
  }
}

function sizeOf(entries: readonly KeptEntry[]): string {
  return formatBytes(entries.reduce((sum, { bytes }) => sum + bytes, 0));
}

const [MINUTE_MS, HOUR_MS, DAY_MS] = [60_000, 3_600_000, 86_400_000];

function ageOf(usedMs: number): string {
  const age = Math.max(0, Date.now() - usedMs);
  if (age < HOUR_MS) return `${Math.floor(age / MINUTE_MS)} min ago`;
  return age < DAY_MS ? `${Math.floor(age / HOUR_MS)} h ago` : `${Math.floor(age / DAY_MS)} d ago`;
}

/** Aligns columns: amounts to the right, words to the left. */
function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => displayWidth(row[column]))));
  return rows.map((row) => {
    const cells = row.map((cell, column) => (column < 2 ? padLeft : padRight)(cell, widths[column]));
    return `  ${cells.join("  ").trimEnd()}`;
  });
}
