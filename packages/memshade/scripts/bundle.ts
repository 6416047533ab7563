// Bundles the modules of src/ into few files. Finding, reading and linking several hundred files would take longer than most commands.
import { renameSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { type ChunkingContext, type CodeSplittingGroup, type InputOptions, rolldown } from "rolldown";
import { noteBundled } from "./third-party.ts";

const source = fileURLToPath(new URL("../src/", import.meta.url));
const dist = fileURLToPath(new URL("../dist/", import.meta.url));

/** Packages that the commands `run` and `node` load. */
const OF_EVERY_START = /^(?:commander|@noble\/hashes)\b/;

/** Characters that make V8 store all of a file with two bytes per character. */
const NOT_ASCII = /[^\0-\x7f]/;

/** Writes files again with the text of strings, templates and regular expressions in ASCII. */
function writeAscii(folder: string, files: readonly { fileName: string; code?: string }[]): void {
  for (const { fileName, code } of files)
    if (code !== undefined && NOT_ASCII.test(code))
      writeFileSync(
        `${folder}${fileName}`,
        code.replaceAll(
          new RegExp(NOT_ASCII, "g"),
          (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
        ),
      );
}

type Entries = Readonly<Record<string, string>>;

/**
 * Entries that Node loads from outside: name in dist/ and path among the sources. They are the command, the library, and the
 * entry files of threads and programs. Entry files are loaded by URL, next to the file that starts them.
 */
export const NODE_ENTRIES: Entries = {
  main: "cli/main",
  index: "index",
  loader: "record/host/node/loader",
  unwinding: "unwinding",
  testing: "testing/index",
  "recording-start": "record/host/node/recording/recording-start",
  "program-thread": "record/host/wasi/program-thread",
  "merge-thread": "names/memprof/merge-thread",
  "rewrite-thread": "record/native/rewritten/rewrite-thread",
  "decompress-xz": "names/load/decompress-xz",
};

/**
 * Scripts that are loaded without Node's loaders: a file each. The code that rewrites modules shares the errors with the code that loads it,
 * in src/record/host/module/module-cache.ts.
 */
const REWRITER = "record/tools/index";
const HOOKS = "record/host/node/register";
const START_HOOKS = "record/host/node/start-hooks";
const ERRORS = `${source}ground/bytes/errors.ts`;

/** The same for web pages, by name in dist/browser/. */
export const BROWSER_ENTRIES: Entries = {
  index: "browser",
  loader: "record/host/loader",
  unwinding: "unwinding",
};

/**
 * Scripts that run in the pages of `memshade browser`, as JSON in one compressed file in dist/: one for every context, and one for contexts
 * whose tables
 * must be read.
 */
const AGENT_SCRIPTS = {
  agent: "record/host/browser/agent/agent",
  reader: "record/host/browser/agent/table-reader",
};
const AGENT_FILE = "browser-agent.br";

/**
 * Files at the start of `memshade node`: the command, the program's main thread and the recording thread. A short program waits for
 * all of them, so code that only one of them needs is in a separate file.
 */
const BEGINNINGS: Readonly<Record<string, readonly string[]>> = {
  // Must be loaded before any file that opens the standard streams, and before Node caches compiled code, so it is small.
  streams: [
    "record/host/run/cache-folder",
    "record/host/run/inherited",
    "cli/standard-streams",
    "record/host/node/recording/recording-start",
  ],
  command: ["cli/command-line", "cli/commands/node"],
  recording: ["record/host/node/recording/recording-thread"],
  running: ["cli/commands/run", "record/native/run-native"],
  summary: ["cli/summary"],
};

/** Beginnings with one file for all that they load together, whoever loads it too. More files would take longer to find. */
const TOGETHER = [["streams"], ["command", "recording"]];

/**
 * Rooms whose remaining modules share a file, by its name, if several entries need them. A file imports only files above it:
 * modules in an import cycle would be used before they have run.
 */
const FILES: Readonly<Record<string, readonly string[]>> = {
  // The only file that a too old Node loads.
  version: ["cli/node-version."],
  // Loads the package `yaml`, which few commands need.
  text: ["profile/formats/memprof-text/", "profile/formats/budget/"],
  profiles: [
    "ground/bytes/",
    "code/wasm/",
    "profile/model/",
    "explain/analyses/",
    "explain/findings/",
    "profile/formats/",
    "code/objects/",
  ],
  native: ["code/dwarf/", "code/unwind/", "names/symbolize/", "unwinding."],
  // Rewrites native programs, in separate threads.
  rewriting: ["record/native/", "code/x64/"],
  reports: [
    "explain/",
    "record/rewrite/",
    "record/allocator/",
    "record/contexts/",
    "record/tools/",
    "record/host/",
    "names/load/",
    "show/report/",
    "show/exports/",
    "names/memprof/",
    "names/stacks/",
    "runs/",
    "store/",
  ],
  cli: ["cli/"],
};

/** File of a module; null: the file of the only entry that needs it. */
function fileOf(module: string, context: ChunkingContext): string | null {
  const users = Object.entries(BEGINNINGS)
    .filter(([, files]) => loadedBy(files, context).has(module))
    .map(([name]) => name);
  const together = TOGETHER.find((names) => names.every((name) => users.includes(name)));
  if (users.length > 0) return (together ?? users).join("-");
  const room = Object.entries(FILES).find(([, starts]) =>
    starts.some((start) => module.startsWith(source + start)),
  );
  return room?.[0] ?? null;
}

const loaded = new Map<readonly string[], ReadonlySet<string>>();

/** Modules that are loaded together with some modules, and these. */
function loadedBy(files: readonly string[], context: ChunkingContext): ReadonlySet<string> {
  const known = loaded.get(files);
  if (known !== undefined) return known;
  const modules = new Set(files.map((file) => `${source}${file}.ts`));
  // The loop also visits modules added during it.
  for (const module of modules)
    for (const next of context.getModuleInfo(module)?.importedIds ?? []) modules.add(next);
  loaded.set(files, modules);
  return modules;
}

/** Bundles the sources. Code for Node shares its modules, and so their classes and state; code for a page is one file. */
export async function bundle(): Promise<void> {
  // npm packages are not bundled if Node can find them, which takes longer than loading those of every start.
  const isPackage = (id: string) => !/^[./]/.test(id) && !OF_EVERY_START.test(id);
  const rewriter = JSON.stringify(
    // Its names appear in no message of Node, because it is not on the stack when a program fails.
    await writeScript(
      REWRITER,
      "rewriter-[hash].cjs",
      { external: (id) => isBuiltIn(id) || id === ERRORS },
      true,
    ),
  );
  const hooks = await writeScript(HOOKS, "hooks-[hash].cjs", {
    external: isBuiltIn,
    transform: { define: { BUILT_REWRITER: rewriter } },
  });
  await writeScript(START_HOOKS, "register.cjs", {
    external: isBuiltIn,
    transform: { define: { BUILT_HOOKS: JSON.stringify(hooks) } },
  });
  await write(
    dist,
    NODE_ENTRIES,
    {
      platform: "node",
      external: isPackage,
      transform: { define: { BUILT_REWRITER: rewriter } },
    },
    { groups: [{ name: fileOf, debugName: "files", minShareCount: 2 }] },
  );
  for (const [name, path] of Object.entries(BROWSER_ENTRIES))
    await write(`${dist}browser/`, { [name]: path }, { platform: "browser" }, false);
}

const isBuiltIn = (id: string) => id.startsWith("node:");

/** Bundles a script for Node into one file. Returns its name. */
async function writeScript(
  path: string,
  fileName: string,
  options: InputOptions,
  minify = false,
): Promise<string> {
  const script = await rolldown({
    ...options,
    input: `${source}${path}.ts`,
    platform: "node",
    checks: { unresolvedImport: true },
  });
  const { output } = await script.write({
    dir: dist,
    format: "cjs",
    entryFileNames: fileName,
    minify,
    comments: false,
    codeSplitting: false,
  });
  await script.close();
  noteBundled(output);
  writeAscii(dist, output);
  return output[0].fileName;
}

/** Scripts of web pages' agents, with the functions that audio worklets lack. */
export async function bundleAgent(): Promise<void> {
  const text = `${source}record/host/browser/agent/text.ts`;
  const texts: Record<string, string> = {};
  for (const [name, path] of Object.entries(AGENT_SCRIPTS)) {
    const script = await rolldown({
      input: `${source}${path}.ts`,
      platform: "browser",
      checks: { unresolvedImport: true },
      transform: { inject: { TextDecoder: [text, "Utf8Decoder"], TextEncoder: [text, "Utf8Encoder"] } },
    });
    const { output } = await script.generate({
      format: "iife",
      name: "memshadeReader",
      minify: true,
      comments: false,
    });
    await script.close();
    noteBundled(output);
    texts[name] = output[0].code.trim();
  }
  const file = `${dist}${AGENT_FILE}`;
  // The file is replaced as a whole, so that a concurrent reader gets one complete version.
  writeFileSync(`${file}.${process.pid}`, brotliCompressSync(JSON.stringify(texts)));
  renameSync(`${file}.${process.pid}`, file);
}

async function write(
  folder: string,
  entries: Entries,
  input: InputOptions,
  codeSplitting: { groups: CodeSplittingGroup[] } | false,
): Promise<void> {
  const modules = await rolldown({
    ...input,
    input: Object.fromEntries(Object.entries(entries).map(([name, path]) => [name, `${source}${path}.ts`])),
    // A module loaded later finds the code it shares with an entry in the entry's own file.
    preserveEntrySignatures: "allow-extension",
    // A dynamic import of a module that is imported anyway has a purpose when running from the sources.
    checks: { ineffectiveDynamicImport: false, unresolvedImport: true },
  });
  const { output } = await modules.write({
    dir: folder,
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: "[name]-[hash].js",
    // Comments are half of the text, and skipping them takes time too. Names and lines stay for Node, which prints them when an engine
    // error with a call in these files ends a program.
    minify: input.platform === "browser",
    comments: false,
    codeSplitting:
      codeSplitting === false ? false : { ...codeSplitting, includeDependenciesRecursively: false },
  });
  await modules.close();
  noteBundled(output);
  if (input.platform === "node") writeAscii(folder, output as { fileName: string; code?: string }[]);
  const files = output.filter((file) => file.type === "chunk");
  if (input.platform === "browser") {
    const ofNode = files.flatMap(({ imports }) => imports);
    if (ofNode.length > 0) throw new Error(`${folder}: web pages cannot import ${ofNode.join(", ")}`);
  }
  refuseCircles(new Map(files.map(({ fileName, imports }) => [fileName, imports])));
}

/** @throws Error if files import each other in a cycle: `FILES` no longer matches the rooms */
function refuseCircles(imports: ReadonlyMap<string, readonly string[]>): void {
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) throw new Error(`files import each other: ${[...path, file].join(" > ")}`);
    if (done.has(file)) return;
    for (const next of imports.get(file) ?? []) visit(next, [...path, file]);
    done.add(file);
  };
  for (const file of imports.keys()) visit(file, []);
}

/** A file of src/ with all its imports, packages included, in the form for web pages. */
export function openForPage(file: string) {
  return rolldown({ input: file, platform: "browser" });
}
