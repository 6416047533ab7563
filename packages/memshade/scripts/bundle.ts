// Puts the modules of src/ into few files: to find, read and link several hundred takes longer than most of what the
// command is asked for.
import { fileURLToPath } from "node:url";
import { type CodeSplittingGroup, type InputOptions, rolldown } from "rolldown";

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
  loader: "host/loader",
  unwinding: "unwinding",
  register: "host/node/register",
  "recording-start": "host/node/recording-start",
  "program-thread": "host/wasi/program-thread",
  "merge-thread": "memprof/merge-thread",
  "decompress-xz": "load/decompress-xz",
};

/** The same for web pages, by the names in dist/browser/. */
export const BROWSER_ENTRIES: Entries = {
  index: "browser",
  loader: "host/loader",
  unwinding: "unwinding",
};

/**
 * The rooms whose modules share a file, by its name, where several entries need them. Files import files above them alone:
 * modules that wait for each other would be used before they have run.
 */
const FILES: Readonly<Record<string, readonly string[]>> = {
  // All that a Node loads that is too old for the rest.
  version: ["cli/node-version."],
  ground: [
    "bytes/",
    "wasm/",
    "host/run/terminal-line.",
    "host/run/die-by-signal.",
    "model/version.",
    "cli/failures.",
    "cli/standard-streams.",
  ],
  // Loads the package `yaml`, which few need.
  text: ["formats/memprof-text/"],
  profiles: ["model/", "analyses/", "formats/", "objects/"],
  native: ["dwarf/", "unwind/", "symbolize/", "unwinding."],
  engine: ["rewrite/", "allocator/", "contexts/", "tools/", "host/"],
  reports: ["load/", "report/", "memprof/", "stacks/"],
  cli: ["cli/"],
};

const GROUPS = Object.entries(FILES).map(([name, starts], index) => ({
  name,
  test: (id: string) => starts.some((start) => id.startsWith(source + start)),
  priority: Object.keys(FILES).length - index,
  minShareCount: 2,
}));

/** Bundles the sources. What Node loads shares its modules, and with them classes and state; what a page loads is one file. */
export async function bundle(): Promise<void> {
  // npm packages stay packages where Node finds them.
  const isPackage = (id: string) => !id.startsWith(".") && !id.startsWith("/");
  await write(dist, NODE_ENTRIES, { platform: "node", external: isPackage }, { groups: GROUPS });
  for (const [name, path] of Object.entries(BROWSER_ENTRIES))
    await write(`${dist}browser/`, { [name]: path }, { platform: "browser" }, false);
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
