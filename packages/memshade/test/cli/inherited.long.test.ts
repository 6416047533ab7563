import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";

const MEMSHADE = fileURLToPath(new URL("../../bin/memshade.js", import.meta.url));
const PROGRAM = fileURLToPath(new URL("../fixtures/programs/kernels/bintree.wasm", import.meta.url));
const isBuilt = existsSync(fileURLToPath(new URL("../../dist/main.js", import.meta.url)));
if (!isBuilt) console.warn("SKIPPED: the package is not built: its command does not start");
const isThere = (name: string) => spawnSync(name, ["--version"], { stdio: "ignore" }).status === 0;
const canBlock = isThere("bash") && spawnSync("env", ["--block-signal=USR1", "true"]).status === 0;
if (!canBlock) console.warn("SKIPPED: bash or env --block-signal is missing: nothing is there to inherit");
const hasCompiler = isThere("gcc");
if (!hasCompiler) console.warn("SKIPPED: gcc is missing: no library is preloaded");
const isNative = process.platform === "linux" && process.arch === "x64";
if (!isNative) console.warn("SKIPPED: this is not x86-64 Linux: no native program is recorded");

describe.skipIf(!isBuilt || !isNative || !canBlock)("what a program inherits", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-inherited-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "f"), "content\n");

  /** Runs shell lines in which `memshade` is the installed command. */
  function shell(lines: string) {
    const { stdout, status } = spawnSync("bash", ["-c", `memshade() { "${MEMSHADE}" "$@"; }\n${lines}`], {
      cwd: folder,
      encoding: "utf8",
      timeout: 100_000,
    });
    return { stdout, status };
  }

  describe.each(["alloc", "heap", "waste", "workingset", "alloc --trace-children"])(
    "with --tool %s",
    (tool) => {
      const run = `memshade run --quiet --out run --tool ${tool} --`;

      it("has its descriptors, with what they lock", () => {
        const script = "cat <&5; flock -n 9 && echo locked; test -e /proc/$$/fd/6 || echo closed";
        const { stdout } = shell(`exec 5<f 9>>lock 12<f; ${run} sh -c '${script}'`);
        expect(stdout).toBe("content\nlocked\nclosed\n");
      });

      it("has its ignored signals and the mask of signals", () => {
        expect(shell(`trap '' HUP; ${run} sh -c 'kill -HUP $$; echo survived'`).stdout).toBe("survived\n");
        const given = `trap '' HUP USR1 TSTP; exec env --block-signal=USR2,RTMIN+3`;
        const command = `"${MEMSHADE}" ${run.slice("memshade".length)} grep -E '^Sig(Blk|Ign)' /proc/self/status`;
        expect(shell(`${given} ${command}`).stdout).toBe(
          "SigBlk:\t0000001000000800\nSigIgn:\t0000000000080201\n",
        );
      });
    },
  );

  it("is recorded if a dump is requested while the shell reads the command", () => {
    // The shell's first command that starts a process begins when the file's first lines were read.
    const first = `ulimit() { kill -USR2 $$; command ulimit "$@"; }; exec() { echo reached; exit; }`;
    const { stdout, status } = shell(`bash -c '${first}; . "$0"' "${MEMSHADE}" run -- true`);
    expect({ stdout, status }).toEqual({ stdout: "reached\n", status: 0 });
  });

  it("has the limit of open files that Node raises, and what else processes hand on", () => {
    const script = "ulimit -Sn; umask; pwd -P; nice; cat /proc/self/oom_score_adj";
    const given =
      "ulimit -Sn 300; umask 027; mkdir -p d; cd d; echo 300 >/proc/self/oom_score_adj; nice -n 5";
    const alone = shell(`${given} sh -c '${script}'`);
    expect(alone.stdout).toMatch(/^300\n0027\n.*\/d\n\d+\n300\n$/);
    expect(shell(`${given} "${MEMSHADE}" run --quiet --out ../run -- sh -c '${script}'`)).toEqual(alone);
  });

  it("has its standard streams as they were: closed, or never waited for", () => {
    const closed = "memshade run --quiet --out run -- sh -c 'test -e /proc/$$/fd/0 || echo closed'";
    expect(shell(`${closed} <&-`).stdout).toBe("closed\n");
    const unblock = "perl -MFcntl -e 'fcntl(STDIN, F_SETFL, O_RDWR | O_NONBLOCK)' <&3";
    const flags = "memshade run --quiet --out run -- grep flags /proc/self/fdinfo/0 <&3";
    expect(shell(`mkfifo p; exec 3<>p; ${unblock}; ${flags}`).stdout).toMatch(/^flags:\s+\d*4\d{3}\n$/);
  });

  it("has arguments and variables that are no text, and variables with names that shells do not have", () => {
    const script = [
      `printf %s "$2" | od -An -tx1`,
      "grep -z -a -E '^(a.b|q%%|ODD)=' /proc/$$/environ | sort -z | od -An -c",
    ];
    writeFileSync(join(folder, "show.sh"), script.join("\n"));
    const given = "env 'a.b=1 2' 'q%%=3' ODD=$'\\xff\\xfe'";
    const command = "sh show.sh '' $'\\xe9\\x80'";
    const alone = shell(`${given} ${command}`);
    expect(alone.stdout).toContain("e9 80");
    expect(alone.stdout).toContain("377 376");
    expect(shell(`${given} "${MEMSHADE}" run --quiet --out run -- ${command}`)).toEqual(alone);
  });

  it("is not kept open by memshade when the program has closed it", () => {
    const script = "exec 5>&-; read line <go; echo $line";
    const command = `"${MEMSHADE}" run --quiet --out run -- sh -c '${script}' 5>pipe`;
    expect(shell(`mkfifo go pipe; (cat pipe; echo went >go) & ${command}`).stdout).toBe("went\n");
  });

  it("is a Node program's, too", () => {
    writeFileSync(join(folder, "read.cjs"), 'console.log(require("fs").readFileSync(5, "utf8"))\n');
    expect(shell("memshade node --quiet read.cjs 5<f").stdout).toBe("content\n\n");
  });

  it("keeps the run of a WebAssembly program from being ended by a signal that is ignored", () => {
    const command = `"${MEMSHADE}" run --quiet --out wasm "${PROGRAM}" 12`;
    const begun = "until [ -e .wasm.partial ]; do sleep 0.01; done";
    const { stdout } = shell(`trap '' HUP; ${command} & ${begun}; kill -HUP $!; wait $!; echo $?`);
    expect(stdout).toMatch(/(?:^|\n)0\n$/);
    expect(existsSync(join(folder, "wasm/run.json"))).toBe(true);
  });

  describe.skipIf(!hasCompiler)("libraries and options for it", () => {
    /** Builds a library to be preloaded. @returns its path */
    function library(name: string, text: string): string {
      const path = join(folder, `${name}.so`);
      writeFileSync(join(folder, `${name}.c`), text);
      expect(spawnSync("gcc", ["-shared", "-fPIC", "-o", path, join(folder, `${name}.c`)]).status).toBe(0);
      return path;
    }

    it("are loaded into the program, and not into memshade's own Node", () => {
      const noting = library("noting", NOTING);
      const noted = "sort noted; rm noted";
      const environment = `NOTED=$PWD/noted LD_PRELOAD=${noting}`;
      const show = `sh -c 'echo $LD_PRELOAD; exec /bin/cat f'`;
      for (const tool of ["alloc", "heap"]) {
        const { stdout } = shell(`${environment} memshade run --quiet --tool ${tool} -- ${show}; ${noted}`);
        const [first, content, ...programs] = stdout.trim().split("\n");
        expect([first, content]).toEqual([noting, "content"]);
        expect(
          programs.map((path) => path.replace(/.*\//, "")).filter((name) => /node|cat/.test(name)),
        ).toEqual(["cat"]);
      }
    });

    it("take effect in a Node program alone", () => {
      writeFileSync(join(folder, "required.cjs"), 'console.log("required")\n');
      writeFileSync(join(folder, "options.cjs"), "console.log(process.env.NODE_OPTIONS)\n");
      const { stdout } = shell("NODE_OPTIONS='--require ./required.cjs' memshade node --quiet options.cjs");
      expect(stdout).toBe("required\n--require ./required.cjs\n");
    });

    it("reach the program by their names, and no others do", () => {
      const given = "MALLOC_ARENA_MAX=1 GLIBC_TUNABLES=glibc.malloc.arena_max=2 LD_LIBRARY_PATH=/nowhere";
      const command = "env | grep -E 'MALLOC|GLIBC|LD_|MEMSHADE_PROGRAM' | sort";
      const { stdout } = shell(`${given} "${MEMSHADE}" run --quiet --out run -- sh -c "${command}"`);
      expect(stdout.split("\n")).toEqual([
        "GLIBC_TUNABLES=glibc.malloc.arena_max=2",
        "LD_LIBRARY_PATH=/nowhere",
        "MALLOC_ARENA_MAX=1",
        "",
      ]);
    });

    it("may be in memshade's Node, too: no allocator is asked for the gigabytes of addresses that tables lie in", () => {
      const refusing = library("refusing", REFUSING);
      const command = `"${process.execPath}" "${MEMSHADE}" run --quiet --out run -- /bin/cat f`;
      expect(shell(`LD_PRELOAD=${refusing} ${command}`)).toEqual({ stdout: "content\n", status: 0 });
    });
  });
});

/** Makes each process that loads it write down its program. */
const NOTING = `
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((constructor)) static void note(void) {
  char name[4096];
  ssize_t length = readlink("/proc/self/exe", name, sizeof name - 1);
  int file = open(getenv("NOTED"), O_WRONLY | O_APPEND | O_CREAT, 0600);
  name[length++] = '\\n';
  if (write(file, name, length) != length) abort();
  close(file);
}
`;

/** Aborts on large requests: an allocator that zeroes its blocks would have to touch all of their memory. */
const REFUSING = `
#include <stdlib.h>
#include <string.h>
void *calloc(size_t count, size_t size) {
  size_t all = count * size;
  if (all > 1ul << 30) abort();
  void *block = malloc(all);
  return block == NULL ? NULL : memset(block, 0, all);
}
`;
