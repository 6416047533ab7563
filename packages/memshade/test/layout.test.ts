import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { BROWSER_ENTRIES, NODE_ENTRIES } from "../scripts/bundle.ts";

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
const ROOT = join(PACKAGE, "../..");
const SOURCE = join(PACKAGE, "src");

/** What is beside the rooms and only re-exports. */
const PUBLIC_API = ["index.ts", "browser.ts", "unwinding.ts"];

/** What each room may import, besides itself. docs/architecture.md has the same table. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  bytes: [],
  wasm: ["bytes"],
  x64: ["bytes"],
  aot: ["bytes", "wasm", "x64"],
  model: ["bytes"],
  objects: ["bytes", "wasm"],
  formats: ["bytes", "model", "objects"],
  unwind: ["bytes", "objects"],
  dwarf: ["bytes"],
  symbolize: ["bytes", "model", "objects", "dwarf"],
  rewrite: ["bytes", "wasm"],
  allocator: ["bytes", "wasm", "rewrite"],
  contexts: ["bytes", "wasm", "rewrite", "allocator"],
  tools: ["bytes", "wasm", "rewrite", "allocator", "contexts", "model"],
  load: ["bytes", "objects", "symbolize"],
  host: ["bytes", "wasm", "tools", "model", "formats", "objects", "symbolize", "load"],
  analyses: ["bytes", "model"],
  stacks: ["bytes", "model", "formats", "objects", "unwind", "symbolize", "load"],
  memprof: ["bytes", "model", "formats", "objects", "load"],
  report: ["model", "formats", "analyses"],
  runs: [
    "bytes",
    "model",
    "objects",
    "formats",
    "unwind",
    "symbolize",
    "load",
    "host",
    "analyses",
    "memprof",
    "report",
  ],
  exports: ["bytes", "model", "objects", "formats", "symbolize", "load", "host", "analyses", "report"],
  native: ["bytes", "x64", "objects", "aot", "unwind", "model", "formats", "tools", "load", "host"],
  store: ["bytes", "model", "formats", "load", "host", "analyses", "memprof", "runs"],
  cli: [
    "bytes",
    "model",
    "formats",
    "objects",
    "unwind",
    "symbolize",
    "tools",
    "host",
    "analyses",
    "load",
    "stacks",
    "memprof",
    "report",
    "runs",
    "exports",
    "native",
    "store",
  ],
  testing: ["bytes", "model", "host", "analyses", "report", "runs"],
};

/** npm packages that a room may use; all others use none. */
const PACKAGES_OF: Readonly<Record<string, readonly string[]>> = {
  wasm: ["@noble"],
  symbolize: ["gecko-profiler-demangle"],
  native: ["@noble"],
  formats: ["@noble", "hyparquet-writer", "pako", "pprof-format", "yaml"],
  load: ["@jridgewell", "gecko-profiler-demangle", "xz-decompress"],
  // Of the page, which is bundled: whoever installs memshade does not install it.
  report: ["preact"],
  // DuckDB is loaded with the first question, and need not be there.
  store: ["@duckdb", "@noble", "hyparquet"],
  cli: ["commander"],
};

/** Packages that are bundled with what a web page imports. */
const BUNDLED_FOR_PAGES = ["@noble/hashes/sha2.js"];

/** Folders that must work in a web page as they do in Node. */
const WITHOUT_NODE = [
  ...[
    "bytes/",
    "wasm/",
    "x64/",
    "aot/",
    "rewrite/",
    "allocator/",
    "contexts/",
    "tools/",
    "model/",
    "formats/",
    "objects/",
    "unwind/",
    "symbolize/",
    "analyses/",
  ],
  "report/",
];
/** What a web page imports, and what is brought into one; nothing of Node may be behind it, however many files away. */
const AGENT = "host/browser/agent/agent.ts";
const WEB_ENTRIES = ["host/loader.ts", AGENT];

interface SourceFile {
  /** Path below src/, with slashes. */
  path: string;
  room: string;
  /** Specifiers of everything it imports or re-exports, types included. */
  imports: string[];
}

/** The files of src/, without those in AssemblyScript, which are programs of their own. */
function readSources(): SourceFile[] {
  return readdirSync(SOURCE, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts") && !path.split(sep).includes("assembly"))
    .map((path) => path.replaceAll("\\", "/"))
    .map((path) => ({ path, room: roomOf(path), imports: importsOf(path) }));
}

function importsOf(path: string): string[] {
  const text = readFileSync(join(SOURCE, path), "utf8");
  return ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => fileName);
}

/** Those of its imports that are there when it runs: no types. */
function executedImportsOf(path: string): string[] {
  const text = readFileSync(join(SOURCE, path), "utf8");
  const { outputText } = ts.transpileModule(text, {
    compilerOptions: { module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true },
  });
  return ts.preProcessFile(outputText, true, true).importedFiles.map(({ fileName }) => fileName);
}

/**
 * The room of a file: its top folder. Files beside the rooms are the public API, above all rooms. What a tool inserts into native
 * programs is that room's, wherever it stands.
 */
function roomOf(path: string): string {
  return /^tools\/[^/]+\/native\//.test(path) ? "native" : path.split("/")[0];
}

function isRelative(specifier: string): boolean {
  return specifier.startsWith(".");
}

function targetOf({ path }: SourceFile, specifier: string): string {
  return join(dirname(path), specifier).replaceAll("\\", "/");
}

/** The rows of the table in the document whose first column is a room and whose second one lists what it imports. */
function documentedTable(): Record<string, string[]> {
  const text = readFileSync(join(ROOT, "docs/architecture.md"), "utf8");
  const codes = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1]);
  const rows = [...text.matchAll(/^\| `([a-z0-9/]+)\/` \|([^|]*)\|/gm)];
  return Object.fromEntries(rows.map(([, room, cell]) => [room, codes(cell)]));
}

/** Every file that is in the repository or about to be; undefined outside a git checkout. */
function repositoryFiles(): string[] | undefined {
  const { status, stdout } = spawnSync("git", ["ls-files", "-z", "-co", "--exclude-standard"], {
    cwd: ROOT,
    encoding: "utf8",
    maxBuffer: 1 << 26,
  });
  if (status !== 0) return undefined;
  return stdout.split("\0").filter((path) => path !== "" && existsSync(join(ROOT, path)));
}

const sources = readSources();

describe("the rooms of src/", () => {
  it("are all in the table, and the table names no others", () => {
    const rooms = new Set(sources.map(({ room }) => room));
    for (const file of PUBLIC_API) rooms.delete(file);
    expect([...rooms].sort()).toEqual(Object.keys(MAY_IMPORT).sort());
  });

  it("import only what stands before them", () => {
    const wrong = sources
      .filter(({ room }) => !PUBLIC_API.includes(room))
      .flatMap((file) =>
        file.imports
          .filter(isRelative)
          .map((specifier) => targetOf(file, specifier))
          .filter((target) => ![file.room, ...MAY_IMPORT[file.room]].includes(roomOf(target)))
          .map((target) => `${file.path} imports ${target}`),
      );
    expect(wrong).toEqual([]);
  });

  it("stand in an order without cycles", () => {
    const placed = new Set<string>();
    for (const [room, imports] of Object.entries(MAY_IMPORT)) {
      for (const imported of imports) expect(placed, `${room} after ${imported}`).toContain(imported);
      placed.add(room);
    }
  });

  it("are documented with the same table", () => {
    expect(documentedTable()).toEqual(MAY_IMPORT);
  });

  it("name the files they import, extension included", () => {
    const wrong = sources.flatMap((file) =>
      file.imports
        .filter(isRelative)
        .filter((specifier) => !existsSync(join(SOURCE, targetOf(file, specifier))))
        .map((specifier) => `${file.path} imports ${specifier}`),
    );
    expect(wrong).toEqual([]);
  });

  it("use nothing of Node where a web page must be able to follow", () => {
    const wrong = sources
      .filter(({ path, room }) => room !== "native" && WITHOUT_NODE.some((place) => path.startsWith(place)))
      .filter(({ imports }) => imports.some((specifier) => specifier.startsWith("node:")))
      .map(({ path }) => path);
    expect(wrong).toEqual([]);
  });

  it.each(WEB_ENTRIES)("need no Node behind %s, and no package but those bundled with it", (entry) => {
    const reached = [entry];
    for (const path of reached) {
      const file = sources.find((source) => source.path === path)!;
      expect(
        file.imports.filter((specifier) => !isRelative(specifier) && !BUNDLED_FOR_PAGES.includes(specifier)),
        path,
      ).toEqual([]);
      for (const specifier of file.imports.filter(isRelative)) {
        const target = targetOf(file, specifier);
        if (!reached.includes(target)) reached.push(target);
      }
    }
    expect(reached.length).toBeGreaterThan(1);
  });

  it("have no rewriter behind readers of profiles, behind what starts Node or runs in pages, and behind the thread that records", () => {
    const runsBehind = (path: string): string[] =>
      executedImportsOf(path)
        .filter(isRelative)
        .map((specifier) => join(dirname(path), specifier).replaceAll("\\", "/"));
    const readers = sources.filter(({ path }) => /^tools\/.*\bread\//.test(path)).map(({ path }) => path);
    expect(readers.length).toBeGreaterThan(1);
    const begins = [...readers, AGENT, "host/node/run-node.ts", "host/node/recording/recording-thread.ts"];
    const cameFrom = new Map(begins.map((path) => [path, path]));
    for (const [path] of cameFrom)
      for (const target of runsBehind(path)) if (!cameFrom.has(target)) cameFrom.set(target, path);
    const wrong = [...cameFrom]
      .filter(([path]) => path.startsWith("rewrite/") || /^tools\/.*\bpass\//.test(path))
      .map(([path, from]) => `${from} imports ${path}`);
    expect(wrong).toEqual([]);
  });

  it("use no packages but those meant for them", () => {
    const wrong = sources.flatMap(({ path, room, imports }) =>
      imports
        .filter((specifier) => !isRelative(specifier) && !specifier.startsWith("node:"))
        .filter((specifier) => !(PACKAGES_OF[room] ?? []).includes(specifier.split("/")[0]))
        .map((specifier) => `${path} imports ${specifier}`),
    );
    expect(wrong).toEqual([]);
  });

  it("are each explained by a README of a screen or less", () => {
    for (const folder of readdirSync(SOURCE, { withFileTypes: true })) {
      if (!folder.isDirectory()) continue;
      const readme = readFileSync(join(SOURCE, folder.name, "README.md"), "utf8");
      expect(readme.trim().split("\n").length, folder.name).toBeLessThanOrEqual(50);
      expect(readme, folder.name).toMatch(new RegExp(`^# ${folder.name}\n`));
    }
  });
});

describe("the package", () => {
  const manifest = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8"));

  it("brings a command that exists and can be executed", () => {
    for (const path of Object.values<string>(manifest.bin)) {
      expect(readFileSync(join(PACKAGE, path), "utf8")).toMatch(/^#!\/usr\/bin\/env node\n/);
      expect(statSync(join(PACKAGE, path)).mode & 0o111, path).toBe(0o111);
      expect(manifest.files).toContain(path.split("/")[0]);
    }
  });

  it("exports files that are built from sources", () => {
    const built = JSON.stringify(manifest.exports).match(/\.\/dist\/[^"]+/g)!;
    expect(built).toContain("./dist/index.js");
    for (const path of built) {
      const name = path.replace(/^\.\/dist\/(?:browser\/)?/, "").replace(/(?:\.d\.ts|\.js)$/, "");
      const source = `${(path.includes("/browser/") ? BROWSER_ENTRIES : NODE_ENTRIES)[name]}.ts`;
      expect(sources.map((file) => file.path)).toContain(source);
    }
  });

  it("states exact versions of everything it is built and tested with", () => {
    const workspace = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    for (const { dependencies, devDependencies, optionalDependencies } of [manifest, workspace]) {
      for (const version of Object.values({ ...dependencies, ...devDependencies, ...optionalDependencies })) {
        expect(version).toMatch(/^\d+\.\d+\.\d+(?:-[\w.]+)?$/);
      }
    }
  });
});

const files = repositoryFiles();
if (files === undefined) console.warn("SKIPPED: not a git checkout, its list of files is not looked through");

describe.skipIf(files === undefined)("the files of the repository", () => {
  it("name no folder of one machine and no package registry", () => {
    const own =
      /(?<![\w.~%-])\/(?:work|root)\/|\/tmp\/bash|\bregistry\.(?:npm|yarn)|npm(?:mirror)|"resolved":\s"https?:/;
    const wrong = files!.filter((path) => own.test(readFileSync(join(ROOT, path), "latin1")));
    expect(wrong).toEqual([]);
  });

  it("link to files that exist", () => {
    const wrong = files!
      .filter((path) => path.endsWith(".md"))
      .flatMap((path) => {
        const text = readFileSync(join(ROOT, path), "utf8").replaceAll(/```.*?```/gs, "");
        return [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)]
          .map((match) => match[1])
          .filter((link) => !/^\w+:/.test(link))
          .filter((link) => !existsSync(join(ROOT, dirname(path), link)))
          .map((link) => `${relative(ROOT, join(ROOT, path))} links to ${link}`);
      });
    expect(wrong).toEqual([]);
  });
});
