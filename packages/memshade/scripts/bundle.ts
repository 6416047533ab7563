// Puts the modules of src/ into few files: to find, read and link several hundred takes longer than most of what the
// command is asked for.
import { renameSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { type ChunkingContext, type CodeSplittingGroup, type InputOptions, rolldown } from "rolldown";
import { noteBundled } from "./third-party.ts";

const source = fileURLToPath(new URL("../src/", import.meta.url));
const dist = fileURLToPath(new URL("../dist/", import.meta.url));

type Entries = Readonly<Record<string, string>>;

/**
 * What Node loads from outside, by its name in dist/ and its place among the sources: the command, the library, and the
 * files that threads and programs begin with. These are named by their URLs, beside the file that starts them.
 */
export const NODE_ENTRIES: Entries = {
  main: "cli/main",
  index: "index",
  loader: "record/host/node/loader",
  unwinding: "unwinding",
  testing: "testing/index",
  register: "record/host/node/register",
  "recording-start": "record/host/node/recording/recording-start",
  "program-thread": "record/host/wasi/program-thread",
  "merge-thread": "names/memprof/merge-thread",
  "rewrite-thread": "record/native/rewritten/rewrite-thread",
  "decompress-xz": "names/load/decompress-xz",
};

/** The same for web pages, by the names in dist/browser/. */
export const BROWSER_ENTRIES: Entries = {
  index: "browser",
  loader: "record/host/loader",
  unwinding: "unwinding",
};

/**
 * What runs in the pages of `memshade browser`, as JSON in one compressed file in dist/: a script for every context, and one for those with tables
 * to read.
 */
const AGENT_SCRIPTS = {
  agent: "record/host/browser/agent/agent",
  reader: "record/host/browser/agent/table-reader",
};
const AGENT_FILE = "browser-agent.br";

/**
 * What `memshade node` begins with: the command, the program's main thread and the recording thread. Whoever profiles a short
 * program waits for all of them: what each needs and the others do not is in files of its own.
 */
const BEGINNINGS: Readonly<Record<string, readonly string[]>> = {
  // Nothing may be loaded before that opens the standard streams.
  streams: ["record/host/run/cache-folder", "record/host/run/inherited", "cli/standard-streams"],
  command: ["cli/command-line", "cli/commands/node"],
  program: ["record/host/node/register"],
  recording: ["record/host/node/recording/recording-thread"],
};

/**
 * The rooms whose other modules share a file, by its name, where several entries need them. Files import files above them
 * alone: modules that wait for each other would be used before they have run.
 */
const FILES: Readonly<Record<string, readonly string[]>> = {
  // All that a Node loads that is too old for the rest.
  version: ["cli/node-version."],
  // Loads the package `yaml`, which few need.
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
  // What rewrites native programs, in threads of its own.
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

/** The file that a module goes to; null: that of the one entry which needs it. */
function fileOf(module: string, context: ChunkingContext): string | null {
  const users = Object.entries(BEGINNINGS)
    .filter(([, files]) => loadedBy(files, context).has(module))
    .map(([name]) => name);
  if (users.length > 0) return users.join("-");
  const room = Object.entries(FILES).find(([, starts]) =>
    starts.some((start) => module.startsWith(source + start)),
  );
  return room?.[0] ?? null;
}

const loaded = new Map<readonly string[], ReadonlySet<string>>();

/** The modules that are loaded with some, and these. */
function loadedBy(files: readonly string[], context: ChunkingContext): ReadonlySet<string> {
  const known = loaded.get(files);
  if (known !== undefined) return known;
  const modules = new Set(files.map((file) => `${source}${file}.ts`));
  // What is added meanwhile is visited too.
  for (const module of modules)
    for (const next of context.getModuleInfo(module)?.importedIds ?? []) modules.add(next);
  loaded.set(files, modules);
  return modules;
}

/** Bundles the sources. What Node loads shares its modules, and with them classes and state; what a page loads is one file. */
export async function bundle(): Promise<void> {
  // npm packages stay packages where Node finds them.
  const isPackage = (id: string) => !id.startsWith(".") && !id.startsWith("/");
  await write(
    dist,
    NODE_ENTRIES,
    { platform: "node", external: isPackage },
    { groups: [{ name: fileOf, debugName: "files", minShareCount: 2 }] },
  );
  for (const [name, path] of Object.entries(BROWSER_ENTRIES))
    await write(`${dist}browser/`, { [name]: path }, { platform: "browser" }, false);
}

/** The scripts of web pages' agents, with what audio worklets lack. */
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
  // Whoever reads it meanwhile gets the whole of one.
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
    // What is loaded later finds what it shares with an entry in the entry's own file.
    preserveEntrySignatures: "allow-extension",
    // A dynamic import of what others import anyway serves the sources.
    checks: { ineffectiveDynamicImport: false, unresolvedImport: true },
  });
  const { output } = await modules.write({
    dir: folder,
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: "[name]-[hash].js",
    // Comments are half of the text, and reading over them takes time too. Names and lines stay under Node: it shows them where a
    // program ends by an error of the engine, whose call stands in one of these files.
    minify: input.platform === "browser",
    comments: false,
    codeSplitting:
      codeSplitting === false ? false : { ...codeSplitting, includeDependenciesRecursively: false },
  });
  await modules.close();
  noteBundled(output);
  const files = output.filter((file) => file.type === "chunk");
  if (input.platform === "browser") {
    const ofNode = files.flatMap(({ imports }) => imports);
    if (ofNode.length > 0) throw new Error(`${folder}: web pages cannot import ${ofNode.join(", ")}`);
  }
  refuseCircles(new Map(files.map(({ fileName, imports }) => [fileName, imports])));
}

/** @throws Error where files wait for each other: the rooms are not as `FILES` has them */
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

/** Everything behind a file of src/, packages included, as a web page needs it. */
export function openForPage(file: string) {
  return rolldown({ input: file, platform: "browser" });
}
