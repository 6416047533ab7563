import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import type { HeapProfile } from "../../../src/profile/model/heap-profile.ts";
import { loadHeap } from "../../../src/runs/heap.ts";
import { canCompile, memshadeRun } from "./support/record.ts";

const SOURCE = fileURLToPath(new URL("programs/inlined.c", import.meta.url));
const isInstalled = (tool: string): boolean =>
  spawnSync(tool, ["--version"], { stdio: "ignore" }).status === 0;

/** A way to store debug information: shell commands that build `program` from `$SOURCE`. */
interface Way {
  what: string;
  needs?: readonly string[];
  build: string;
  /** Folder with the debug information, below the program's. */
  binaryPath?: string;
}

const SPLIT = "$CC -g -O1 -gsplit-dwarf -c $SOURCE -o unit.o && $CC unit.o -o program";
const PLAIN = "gcc -g -O1 $SOURCE -o program";
const APART = "objcopy --only-keep-debug program program.debug && strip --strip-all program";
const LINKED = `${APART} && objcopy --add-gnu-debuglink=program.debug program`;
const CLANG_PACKAGE = `CC=clang-22; ${SPLIT} && llvm-dwp-22 -e program -o program.dwp && rm unit.*`;

const WAYS: readonly Way[] = [
  { what: "in split units beside the program, by gcc", build: `CC=gcc; ${SPLIT}` },
  {
    what: "in a package of split units, by gcc",
    needs: ["dwp"],
    // The `dwp` of binutils 2.40 supports DWARF 4 at most.
    build: `CC="gcc -gdwarf-4"; ${SPLIT} && dwp -e program -o program.dwp && rm unit.*`,
  },
  { what: "in a package of split units, by clang", needs: ["clang-22", "llvm-dwp-22"], build: CLANG_PACKAGE },
  {
    what: "in a package of split units beside a stripped program's debug file",
    needs: ["clang-22", "llvm-dwp-22"],
    build: `${CLANG_PACKAGE} && ${LINKED} && mkdir .debug && mv program.debug .debug && mv program.dwp .debug/program.debug.dwp`,
  },
  {
    what: "in a package of split units in a folder that the user names",
    needs: ["clang-22", "llvm-dwp-22"],
    build: `${CLANG_PACKAGE} && mkdir kept && mv program.dwp kept`,
    binaryPath: "kept",
  },
  { what: "in a file that a link names", build: `${PLAIN} && ${LINKED}` },
  {
    what: "in a folder .debug beside the program",
    build: `${PLAIN} && ${LINKED} && mkdir .debug && mv program.debug .debug`,
  },
  {
    what: "in a folder by build id",
    build: `${PLAIN} && ${APART} && id=$(readelf -n program | sed -n 's/.*Build ID: //p')
      two=$(echo $id | cut -c1-2) && mkdir -p symbols/.build-id/$two
      mv program.debug symbols/.build-id/$two/$(echo $id | cut -c3-).debug`,
    binaryPath: "symbols",
  },
  {
    what: "in a file that a stripped program's debug file shares",
    needs: ["dwz"],
    build: `${PLAIN} && gcc -g -O2 $SOURCE -o other && dwz -m common.debug program other && ${LINKED}`,
  },
  {
    what: "compressed in the program",
    needs: ["clang-22"],
    build: `clang-22 -gz=zstd -g -O1 $SOURCE -o program`,
  },
];

describe.skipIf(!canCompile)("debug information", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-debug-files-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  let count = 0;

  /** Builds and runs a program; returns the call path of its blocks and the report's further text. */
  async function recorded({ build, binaryPath }: Omit<Way, "what">) {
    const place = join(folder, `${count++}`);
    mkdirSync(place);
    execFileSync("sh", ["-ec", build], { cwd: place, env: { ...process.env, SOURCE } });
    const out = join(place, "run");
    const { status, stderr } = memshadeRun(folder, ["--quiet", "--out", out, join(place, "program")]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const { profile } = await loadHeap(out, {
      binaryPaths: binaryPath === undefined ? [] : [join(place, binaryPath)],
    });
    return { path: wayTo(profile, 50), notes: profile.description.notTracked.join("\n") };
  }

  for (const way of WAYS) {
    const missing = (way.needs ?? []).filter((tool) => !isInstalled(tool));
    if (missing.length > 0)
      console.warn(`SKIPPED: debug information ${way.what}: ${missing.join(", ")} missing`);
    it.skipIf(missing.length > 0)(`is found ${way.what}`, async () => {
      const { path, notes } = await recorded(way);
      expect(path.slice(0, 3)).toEqual(["make:7", "grow:11", "main:15"]);
      expect(notes).not.toContain("/program ");
    });
  }

  it("that is nowhere is said to be missing, where split units have it", async () => {
    const { path, notes } = await recorded({ build: `CC=gcc; ${SPLIT} && rm unit.*` });
    expect(path.slice(0, 2)).toEqual(["grow:7", "main:15"]);
    expect(notes).toMatch(
      /program refers to unit\.dwo, which was not found: inlined functions and some lines/,
    );
  });

  it.skipIf(!isInstalled("xz"))("in small gives names without lines (.gnu_debugdata)", async () => {
    const { path, notes } = await recorded({
      build: `${PLAIN} && objcopy --only-keep-debug program debug
        objcopy -S --remove-section .comment --keep-symbol grow --keep-symbol main debug small && xz small
        strip --strip-all program && objcopy --add-section .gnu_debugdata=small.xz program`,
    });
    expect(path.slice(0, 2)).toEqual(["grow:0", "main:0"]);
    expect(notes).not.toContain("/program ");
  });

  it("that was thrown away leaves functions that differ by where they begin, and a word on what brings names", async () => {
    const { path, notes } = await recorded({ build: `${PLAIN} && strip --strip-all program` });
    expect(path.slice(0, 2)).toEqual(["?:0", "?:0"]);
    expect(notes).toMatch(
      /program has no function names for \d+ of its \d+ sites\. To get names: give the unstripped file/,
    );
  });
});

/** Functions and lines on the call paths with this number of blocks, innermost first. */
function wayTo(profile: HeapProfile, blocks: number): string[] {
  const { contexts, stacks, functions, frames, strings } = profile;
  const context = contexts.site!.liveBlocks.indexOf(blocks);
  const path: string[] = [];
  for (let stack = contexts.stack[context]!; stack >= 0; stack = stacks.prefix[stack]!) {
    const frame = stacks.frame[stack]!;
    const name = functions.name[frames.function[frame]!]!;
    path.push(`${name < 0 ? "?" : strings[name]}:${frames.line[frame]}`);
  }
  return path;
}
