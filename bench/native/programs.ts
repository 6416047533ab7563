import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A program with work for a second or more. */
export interface NativeProgram {
  name: string;
  /** Debian package of the program, or its compiler. */
  package: string;
  /** The command; undefined if it is not installed. `folder`: for files that must be written first. */
  command: (folder: string) => string[] | undefined;
  /** Standard input. */
  input?: string;
  /** True for programs that are measured only before a release. */
  isApart?: boolean;
}

const here = (name: string) => join(import.meta.dirname, name);

function installed(program: string, ...args: string[]) {
  return () => (existsSync(program) ? [program, ...args] : undefined);
}

export const PROGRAMS: readonly NativeProgram[] = [
  { name: "perl", package: "perl-base", command: installed("/usr/bin/perl", here("words.pl")) },
  { name: "python3", package: "python3-minimal", command: installed("/usr/bin/python3", here("trees.py")) },
  {
    name: "sqlite3",
    package: "sqlite3",
    command: installed("/usr/bin/sqlite3", ":memory:"),
    input: readFileSync(here("trips.sql"), "utf8"),
  },
  { name: "cc1", package: "cpp", command: compiler },
  { name: "jq", package: "jq", command: installed("/usr/bin/jq", "-n", "-c", "-f", here("groups.jq")) },
  { name: "tclsh", package: "tcl", isApart: true, command: installed("/usr/bin/tclsh", here("lists.tcl")) },
  {
    name: "cmake",
    package: "cmake",
    isApart: true,
    command: installed("/usr/bin/cmake", "-P", here("strings.cmake")),
  },
];

/** Small programs that each do one thing, so that the cost of inserted code shows most. */
export const KERNELS: readonly NativeProgram[] = [
  { name: "matrix", package: "gcc", command: kernel("matrix") },
  { name: "hashmap", package: "gcc", command: kernel("hashmap") },
  { name: "trees", package: "gcc", command: kernel("trees") },
  { name: "sieve", package: "gcc", isApart: true, command: kernel("sieve") },
  { name: "words", package: "gcc", isApart: true, command: kernel("words") },
];

/** Compiles a kernel with the options of most programs. */
function kernel(name: string) {
  return (folder: string) => {
    const path = join(folder, name);
    const { status } = spawnSync("gcc", ["-O2", here(`kernels/${name}.c`), "-o", path], { stdio: "inherit" });
    return status === 0 ? [path] : undefined;
  };
}

/** The compiler proper, with a file of many functions. */
function compiler(folder: string): string[] | undefined {
  const path = spawnSync("gcc", ["-print-prog-name=cc1"], { encoding: "utf8" }).stdout?.trim();
  if (!path?.startsWith("/")) return undefined;
  const source = join(folder, "many.c");
  const functions = Array.from(
    { length: 300 },
    (_, i) => `
struct s${i} { int a[${(i % 7) + 1}]; struct s${i} *next; };
int f${i}(struct s${i} *s, int n) {
  int sum = ${i};
  for (; s; s = s->next)
    for (int k = 0; k < ${(i % 7) + 1}; k++)
      switch ((s->a[k] + n) & 3) {
      case 0: sum += s->a[k] * ${i + 3}; break;
      case 1: sum ^= n << (k & 7); break;
      default: sum -= ${i === 0 ? "n" : `f${i - 1}((struct s${i - 1} *)0, sum)`};
      }
  return sum;
}`,
  );
  writeFileSync(source, functions.join("\n"));
  return [path, "-quiet", "-O2", source, "-o", "-"];
}
