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

/** Files beside the rooms, which only re-export. */
const PUBLIC_API = ["index.ts", "browser.ts", "unwinding.ts"];

/**
 * The wings of src/ in order, each with its rooms. A wing imports only from itself and from the wings above it.
 * docs/architecture.md has the same table.
 */
const WINGS: Readonly<Record<string, readonly string[]>> = {
  ground: ["bytes"],
  code: ["wasm", "x64", "aot", "objects", "dwarf", "unwind"],
  profile: ["model", "formats"],
  names: ["symbolize", "load", "stacks", "memprof"],
  record: ["rewrite", "allocator", "contexts", "tools", "host", "native"],
  explain: ["analyses", "findings", "measures", "call-tree", "source", "diff", "limits", "fleet"],
  show: ["report", "exports"],
  runs: [],
  store: [],
  testing: [],
  cli: [],
};

/** npm packages that a room may use; all other rooms use none. */
const PACKAGES_OF: Readonly<Record<string, readonly string[]>> = {
  "code/wasm": ["@noble"],
  "names/symbolize": ["gecko-profiler-demangle"],
  "record/native": ["@noble"],
  "profile/formats": ["@noble", "hyparquet-writer", "pako", "pprof-format", "yaml"],
  "names/load": ["@jridgewell", "gecko-profiler-demangle", "xz-decompress"],
  // Part of the page, which is bundled: users of memshade do not install it.
  "show/report": ["preact"],
  // DuckDB is optional; the first query loads it.
  store: ["@duckdb", "@noble", "hyparquet"],
  // The protocol of agents is optional; `memshade mcp` loads it.
  cli: ["@modelcontextprotocol", "commander"],
};

/** Packages that are bundled into the code that web pages import. */
const BUNDLED_FOR_PAGES = ["@noble/hashes/sha2.js"];

const WITHOUT_NODE = [
  "ground/",
  "code/",
  "profile/",
  "names/symbolize/",
  "explain/",
  "show/report/",
  ...["rewrite/", "allocator/", "contexts/", "tools/"].map((room) => `record/${room}`),
];
/** The code that web pages import, and the code inserted into one. None of their imports, direct or indirect, may belong to Node. */
const AGENT = "record/host/browser/agent/agent.ts";
const WEB_ENTRIES = ["record/host/loader.ts", AGENT];

interface SourceFile {
  /** Path below src/, with slashes. */
  path: string;
  room: string;
  /** Specifiers of all imports and re-exports, including types. */
  imports: string[];
}

/** Reads all files; those of AssemblyScript name the files that they import without extension. */
function readSources(): SourceFile[] {
  return readdirSync(SOURCE, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => path.replaceAll("\\", "/"))
    .map((path) => ({ path, room: roomOf(path), imports: importsOf(path) }));
}

function importsOf(path: string): string[] {
  const text = readFileSync(join(SOURCE, path), "utf8");
  return ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => fileName);
}

/** Imports that exist at run time: no types. */
function executedImportsOf(path: string): string[] {
  const text = readFileSync(join(SOURCE, path), "utf8");
  // Type imports are removed, so that the imports loaded by Node remain.
  const values = text.replaceAll(/^(?:import|export) type [^;]*;/gm, "");
  return ts.preProcessFile(values, true, true).importedFiles.map(({ fileName }) => fileName);
}

/** The wing of a file: its top folder. Files beside the wings are the public API, above all wings. */
function wingOf(path: string): string {
  return path.split("/")[0];
}

/** The room of a file: the folder in its wing, or the wing itself if it has no rooms. */
function roomOf(path: string): string {
  const [wing, room] = path.split("/");
  return (WINGS[wing] ?? []).includes(room) ? `${wing}/${room}` : wing;
}

function isRelative(specifier: string): boolean {
  return specifier.startsWith(".");
}

function targetOf({ path }: SourceFile, specifier: string): string {
  return join(dirname(path), specifier).replaceAll("\\", "/");
}

/** Rows of the document's table: first column a wing, second column its rooms. */
function documentedTable(): Record<string, string[]> {
  const text = readFileSync(join(ROOT, "docs/architecture.md"), "utf8");
  const codes = (cell: string) => [...cell.matchAll(/`([^`]+)\/`/g)].map((match) => match[1]);
  const rows = [...text.matchAll(/^\| `([a-z0-9/]+)\/` \|([^|]*)\|/gm)];
  return Object.fromEntries(rows.map(([, wing, cell]) => [wing, codes(cell)]));
}

/** Files that are in the repository or not ignored; undefined outside a git checkout. */
function repositoryFiles(): string[] | undefined {
  const { status, stdout } = spawnSync("git", ["ls-files", "-z", "-co", "--exclude-standard"], {
    cwd: ROOT,
    encoding: "utf8",
    maxBuffer: 1 << 26,
  });
  if (status !== 0) return undefined;
  return stdout.split("\0").filter((path) => path !== "" && existsSync(join(ROOT, path)));
}

const everything = readSources();
const sources = everything.filter(({ path }) => !path.split("/").includes("assembly"));

function foldersIn(path: string): string[] {
  return readdirSync(join(SOURCE, path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
}

describe("the wings of src/", () => {
  it("are all in the table with their rooms, and the table names no others", () => {
    expect(foldersIn("").sort()).toEqual(Object.keys(WINGS).sort());
    for (const [wing, rooms] of Object.entries(WINGS))
      if (rooms.length > 0) expect(foldersIn(wing).sort(), wing).toEqual([...rooms].sort());
    const beside = sources.filter(({ path }) => !path.includes("/")).map(({ path }) => path);
    expect(beside.sort()).toEqual([...PUBLIC_API].sort());
  });

  it("import only what stands above them", () => {
    const order = Object.keys(WINGS);
    const wrong = everything
      .filter(({ path }) => !PUBLIC_API.includes(path))
      .flatMap((file) =>
        file.imports
          .filter(isRelative)
          .map((specifier) => targetOf(file, specifier))
          .filter((target) => {
            const place = order.indexOf(wingOf(target));
            return place < 0 || place > order.indexOf(wingOf(file.path));
          })
          .map((target) => `${file.path} imports ${target}`),
      );
    expect(wrong).toEqual([]);
  });

  it("have rooms that stand in the order of the table, too", () => {
    const order = Object.entries(WINGS).flatMap(([wing, rooms]) => rooms.map((room) => `${wing}/${room}`));
    const wrong = everything.flatMap((file) =>
      file.imports
        .filter(isRelative)
        .map((specifier) => targetOf(file, specifier))
        .filter(
          (target) => order.includes(file.room) && order.indexOf(roomOf(target)) > order.indexOf(file.room),
        )
        .map((target) => `${file.path} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it("are documented with the same table", () => {
    expect(documentedTable()).toEqual(WINGS);
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
      .filter(({ path }) => WITHOUT_NODE.some((place) => path.startsWith(place)))
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
    const readers = sources
      .filter(({ path }) => /^record\/tools\/.*\bread\//.test(path))
      .map(({ path }) => path);
    expect(readers.length).toBeGreaterThan(1);
    const begins = [
      ...readers,
      AGENT,
      "record/host/node/run-node.ts",
      "record/host/node/recording/recording-thread.ts",
    ];
    const cameFrom = new Map(begins.map((path) => [path, path]));
    for (const [path] of cameFrom)
      for (const target of runsBehind(path)) if (!cameFrom.has(target)) cameFrom.set(target, path);
    const wrong = [...cameFrom]
      .filter(([path]) => path.startsWith("record/rewrite/") || /^record\/tools\/.*\bpass\//.test(path))
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

  it("are each explained by a README of a screen or less, and so are their rooms", () => {
    const rooms = Object.entries(WINGS).flatMap(([wing, rooms]) => [
      wing,
      ...rooms.map((room) => `${wing}/${room}`),
    ]);
    for (const folder of rooms) {
      const readme = readFileSync(join(SOURCE, folder, "README.md"), "utf8");
      expect(readme.trim().split("\n").length, folder).toBeLessThanOrEqual(50);
      expect(readme, folder).toMatch(new RegExp(`^# ${folder.split("/").at(-1)}\n`));
    }
  });

  it("have a README in every folder of more than 14 files", () => {
    const folders = everything.map(({ path }) => dirname(path));
    const large = [...new Set(folders)].filter(
      (folder) => folders.filter((other) => other === folder).length > 14,
    );
    expect(large).toContain("record/native/assembly");
    expect(large.filter((folder) => !existsSync(join(SOURCE, folder, "README.md")))).toEqual([]);
  });

  it("have READMEs that name only files and folders that exist", () => {
    const paths = readdirSync(SOURCE, { recursive: true, withFileTypes: true }).map((entry) => {
      const path = relative(SOURCE, join(entry.parentPath, entry.name)).replaceAll(sep, "/");
      return entry.isDirectory() ? `/${path}/` : `/${path}`;
    });
    const readmes = paths.filter((path) => path.endsWith("/README.md"));
    expect(readmes.length).toBeGreaterThan(1);
    const wrong = readmes.flatMap((readme) => {
      const named = readFileSync(join(SOURCE, readme), "utf8").matchAll(/`([\w./-]+(?:\.tsx?|\/))`/g);
      // A bare file name refers to a file nearby; a name with its folder may refer to another room.
      return [...named]
        .map(([, name]) => ({ name, around: name.includes("/") ? "/" : `${dirname(readme)}/` }))
        .filter(({ name }) => !existsSync(join(PACKAGE, name)))
        .filter(
          ({ name, around }) => !paths.some((path) => path.startsWith(around) && path.endsWith(`/${name}`)),
        )
        .map(({ name }) => `${readme} names ${name}`);
    });
    expect(wrong).toEqual([]);
  });
});

describe("the package", () => {
  const manifest = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8"));

  it("brings a command that exists and can be executed", () => {
    for (const path of Object.values<string>(manifest.bin)) {
      expect(readFileSync(join(PACKAGE, path), "utf8")).toMatch(
        /^#!\/bin\/sh\n[\s\S]*\nexec node "\$0" "\$@"\n/,
      );
      expect(statSync(join(PACKAGE, path)).mode & 0o111, path).toBe(0o111);
      expect(manifest.files).toContain(path.split("/")[0]);
    }
  });

  it("exports files that are built from sources", () => {
    const built = JSON.stringify(manifest.exports).match(/\.\/dist\/[^"]+/g)!;
    expect(built).toContain("./dist/index.js");
    for (const path of built.filter((each) => !each.startsWith("./dist/schemas/"))) {
      const name = path.replace(/^\.\/dist\/(?:browser\/)?/, "").replace(/(?:\.d\.ts|\.js)$/, "");
      const source = `${(path.includes("/browser/") ? BROWSER_ENTRIES : NODE_ENTRIES)[name]}.ts`;
      expect(sources.map((file) => file.path)).toContain(source);
    }
  });

  it("states exact versions of everything it is built and tested with", () => {
    const workspace = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    for (const { dependencies, devDependencies, optionalDependencies } of [manifest, workspace])
      for (const version of Object.values({ ...dependencies, ...devDependencies, ...optionalDependencies }))
        expect(version).toMatch(/^\d+\.\d+\.\d+(?:-[\w.]+)?$/);
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
