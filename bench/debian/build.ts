import { spawnSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Fetches the sources of SQLite, zstd, zlib and Lua from this machine's Debian release, and builds a benchmark program over each
 * with clang 22 and wasi-libc. Needs apt, dpkg-dev, clang-22 with its wasm32 libraries, wasi-libc, make, gcc and tclsh, but no
 * administrator rights; apt's own lists stay unchanged.
 */
const folder = fileURLToPath(new URL("./", import.meta.url));
const sources = join(folder, "sources");
const built = join(folder, "built");

const COMPILE =
  "--target=wasm32-wasi --sysroot=/usr -O2 -g --no-wasm-opt -Wno-deprecated -Wno-deprecated-non-prototype".split(
    " ",
  );

/** A program: its source package, the commands that prepare the package, and the files compiled besides its own. */
interface Program {
  name: string;
  package: string;
  prepare?: (source: string) => void;
  compile: (source: string) => string[];
}

const PROGRAMS: readonly Program[] = [
  {
    name: "sqlite",
    package: "sqlite3",
    prepare: (source) => {
      if (existsSync(join(source, "sqlite3.c"))) return;
      run("./configure", ["--disable-editline", "--disable-readline"], source);
      run("make", ["sqlite3.c"], source);
    },
    compile: (source) => [
      "-DSQLITE_THREADSAFE=0",
      "-DSQLITE_OMIT_LOAD_EXTENSION",
      "-DSQLITE_OS_OTHER=1",
      `-I${source}`,
      join(source, "sqlite3.c"),
    ],
  },
  {
    name: "zstd",
    package: "libzstd",
    compile: (source) => [
      `-I${join(source, "lib")}`,
      ...["common", "compress", "decompress"].flatMap((part) => globSync(join(source, "lib", part, "*.c"))),
    ],
  },
  {
    name: "zlib",
    package: "zlib",
    compile: (source) => [`-I${source}`, ...without(globSync(join(source, "*.c")), /^gz/)],
  },
  {
    name: "lua",
    package: "lua5.4",
    compile: (source) => [
      "-include",
      join(folder, "lua/errors.h"),
      `-I${join(folder, "lua")}`,
      `-I${join(source, "src")}`,
      // Without this seed, the hashes of strings depend on time and addresses.
      "-Dluai_makeseed(L)=1",
      "-D_WASI_EMULATED_SIGNAL",
      "-D_WASI_EMULATED_PROCESS_CLOCKS",
      "-lwasi-emulated-signal",
      "-lwasi-emulated-process-clocks",
      // Excludes the programs, and the libraries that need an operating system.
      ...without(globSync(join(source, "src/*.c")), /^(lua|luac|linit|liolib|loslib|loadlib|ldblib)\.c$/),
    ],
  },
];

function without(files: readonly string[], names: RegExp): string[] {
  return files.filter((file) => !names.test(basename(file))).sort();
}

function succeeds(command: string, args: readonly string[], cwd: string): boolean {
  const { status, stderr, error } = spawnSync(command, args, { cwd, encoding: "utf8", maxBuffer: 1 << 28 });
  if (status !== 0) console.error(error?.message ?? stderr);
  return status === 0;
}

function run(command: string, args: readonly string[], cwd: string): void {
  if (succeeds(command, args, cwd)) return;
  console.error(`build: ${command} ${args.slice(0, 3).join(" ")} failed`);
  process.exit(1);
}

/** apt entries for source packages, derived from those for binary packages. */
function sourceEntries(): { oneLine: string; stanzas: string } {
  const read = (pattern: string) => globSync(pattern).map((file) => readFileSync(file, "utf8"));
  const lines = read("/etc/apt/{sources.list,sources.list.d/*.list}")
    .flatMap((text) => text.split("\n"))
    .filter((line) => /^deb\s/.test(line) && /\bmain\b/.test(line));
  const stanzas = read("/etc/apt/sources.list.d/*.sources")
    .flatMap((text) => text.split(/\n\s*\n/))
    .filter((text) => /^Types:.*\bdeb\b/m.test(text) && /^Components:.*\bmain\b/m.test(text));
  return {
    oneLine: lines.map((line) => line.replace(/^deb\s/, "deb-src ")).join("\n"),
    stanzas: stanzas.map((text) => text.replace(/^Types:.*/m, "Types: deb-src")).join("\n\n"),
  };
}

function fetch(packages: readonly string[]): void {
  const apt = join(sources, "apt");
  for (const part of ["lists/partial", "cache/archives/partial", "parts"])
    mkdirSync(join(apt, part), { recursive: true });
  const { oneLine, stanzas } = sourceEntries();
  writeFileSync(join(apt, "parts/source.list"), `${oneLine}\n`);
  writeFileSync(join(apt, "parts/source.sources"), `${stanzas}\n`);
  const options = [
    `Dir::Etc::SourceList=${join(apt, "none")}`,
    `Dir::Etc::SourceParts=${join(apt, "parts")}`,
    `Dir::State::Lists=${join(apt, "lists")}`,
    `Dir::Cache=${join(apt, "cache")}`,
    "APT::Sandbox::User=",
  ].flatMap((option) => ["-o", option]);
  run("apt-get", [...options, "update"], sources);
  const release = /^VERSION_CODENAME=(.*)$/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1];
  for (const name of packages) {
    // Mirrors drop sources of security updates; the release itself keeps its own.
    if (!succeeds("apt-get", [...options, "source", name], sources))
      run("apt-get", [...options, "source", `${name}/${release}`], sources);
  }
}

/** Folder of an unpacked source package; undefined if it is not unpacked. */
function unpacked(name: string): string | undefined {
  return globSync(join(sources, `${name}-*/`))[0];
}

mkdirSync(sources, { recursive: true });
mkdirSync(built, { recursive: true });
const missing = PROGRAMS.filter((program) => unpacked(program.package) === undefined);
if (missing.length > 0) fetch(missing.map((program) => program.package));
for (const program of PROGRAMS) {
  const source = unpacked(program.package) as string;
  program.prepare?.(source);
  const output = join(built, `${program.name}.wasm`);
  run(
    "clang-22",
    [...COMPILE, join(folder, `${program.name}.c`), ...program.compile(source), "-o", output],
    folder,
  );
  console.log(`${basename(source)}: ${output}`);
}
