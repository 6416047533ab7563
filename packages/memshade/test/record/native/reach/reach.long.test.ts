import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import { MAIN } from "../../../command.ts";
import { sharedPath } from "../../../shared-path.ts";
import { canCompile, compileProgram, memshade, memshadeRun, runIn } from "../support/record.ts";

const CASES = canCompile ? sharedPath("fixtures/reach") : undefined;
const OUTSIDE = canCompile ? sharedPath("fixtures/outside/native") : undefined;

function kindsIn(folder: string): string {
  const reach = runIn(folder).heap!.reach!;
  return [
    [reach.lostBytes, reach.lostBlocks],
    [reach.indirectlyLostBytes, reach.indirectlyLostBlocks],
    [reach.possiblyLostBytes, reach.possiblyLostBlocks],
    [reach.stillReachableBytes, reach.stillReachableBlocks],
  ]
    .map(([bytes, blocks]) => (blocks === 0 ? "0" : `${bytes}/${blocks}`))
    .join(" ");
}

function make(compiler: string, ...words: readonly string[]): void {
  const { status, stderr } = spawnSync(compiler, ["-g", "-O1", "-pthread", ...words], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
}

describe.skipIf(!canCompile)("live blocks of a native program", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-reach-"));
  const program = join(folder, "lost");
  if (canCompile) compileProgram("lost.c", program);
  afterAll(() => rmSync(folder, { recursive: true }));

  const unknown = (out: string) =>
    runIn(join(folder, out)).heap!.notTracked!.filter((sentence) => sentence.startsWith("Whether"));

  it.each([
    ["return", 0],
    ["exit", 3],
    ["_exit", 4],
    ["quick", 5],
    ["confined", 7],
    ["hidden", 0],
    ["forks", 0],
  ])("are lost or reachable at its end by %s", (how, status) => {
    const { status: ended, stderr } = memshadeRun(folder, ["--out", how, program, how]);
    expect(ended).toBe(status);
    expect(kindsIn(join(folder, how))).toBe("480/10 1920/40 0 144/3");
    expect(stderr).toMatch(/leak +2\.34 KiB +50 of 53 blocks of list \(lost\.c:24\) are lost/);
  });

  it("are told apart where accesses are counted, too", () => {
    expect(memshadeRun(folder, ["--tool", "heap", "--out", "counted", program, "exit"]).status).toBe(3);
    expect(kindsIn(join(folder, "counted"))).toBe("480/10 1920/40 0 144/3");
  });

  it("are ranked by what is lost, and limited", () => {
    memshadeRun(folder, ["--quiet", "--out", "ranked", program]);
    expect(memshade(folder, ["top", "ranked", "--by", "lost"]).stdout).toMatch(/2\.34 KiB .* list/);
    const { status, stdout } = memshade(folder, ["check", "ranked", "--limit", "lost=0"]);
    expect({ status, stdout }).toMatchObject({ status: 1, stdout: expect.stringContaining("2,400 B") });
  });

  it.each([
    ["kill", "it was ended by SIGKILL"],
    ["call", "it ended without running its exit handlers"],
  ])("are not known to be either where its end is not seen: %s", (how, reason) => {
    const { stderr } = memshadeRun(folder, ["--out", how, program, how]);
    expect(unknown(how)).toEqual([
      `Whether 53 live blocks are lost or still reachable is not known: ${reason}.`,
    ]);
    expect(stderr).toContain(`whether 53 live blocks are lost or still reachable is not known: ${reason}\n`);
  });

  it("are not looked at where that is asked for; a limit of what is lost is refused then", () => {
    memshadeRun(folder, ["--quiet", "--no-reach", "--out", "without", program]);
    const { status, stderr } = memshade(folder, ["check", "without", "--limit", "lost=0"]);
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: expect.stringContaining("--no-reach was given"),
    });
  });

  it.each(["waits", "works"])("are told apart in a dump of a program that %s", async (how) => {
    const recording = spawn(
      process.execPath,
      [MAIN, "run", "--quiet", "--out", `dumped-${how}`, program, how],
      {
        cwd: folder,
        stdio: ["pipe", "pipe", "pipe"],
      },
    );
    await new Promise((resolve) => recording.stdout.once("data", resolve));
    const isWritten = new Promise((resolve) => recording.stderr.once("data", resolve));
    recording.kill("SIGUSR2");
    await isWritten;
    const isOver = new Promise((resolve) => recording.once("close", resolve));
    recording.stdin.end();
    await isOver;
    for (const out of [`dumped-${how}.dump1`, `dumped-${how}`])
      expect(kindsIn(join(folder, out))).toMatch(/^480\/10 1920\/40 0 /);
  });

  it("do not keep it from ending when memshade was killed", async () => {
    const recording = spawn(process.execPath, [MAIN, "run", "--quiet", "--out", "killed", program, "waits"], {
      cwd: folder,
      stdio: ["pipe", "pipe", "ignore"],
    });
    await new Promise((resolve) => recording.stdout.once("data", resolve));
    const pid = descendantOf(recording);
    recording.kill("SIGKILL");
    recording.stdin.end();
    for (let waited = 0; waited < 300 && isThere(pid); waited++) await delay(100);
    expect(isThere(pid)).toBe(false);
  });

  it.skipIf(OUTSIDE === undefined)(
    "are no leaks where they are the program's table, or the C library's",
    () => {
      const run = (name: string, ...args: readonly string[]) => {
        make("gcc", "-o", join(folder, name), join(OUTSIDE!, `${name}.c`));
        return memshadeRun(folder, ["--out", `of-${name}`, join(folder, name), ...args]).stderr;
      };
      expect(run("server", "1")).toContain("no findings");
      expect(run("native-reachable-cache")).toContain("no findings");
      expect(kindsIn(join(folder, "of-native-reachable-cache"))).toBe("0 0 0 4096000/1000");
      expect(run("thr")).toContain("no findings");
    },
  );

  it.skipIf(OUTSIDE === undefined)("are one finding with all that only they lead to", () => {
    make("g++", "-o", join(folder, "dwz-one"), join(OUTSIDE!, "dwz-one.cpp"));
    const { stderr } = memshadeRun(folder, ["--out", "of-dwz", join(folder, "dwz-one")]);
    expect(stderr.match(/leak .*/g)).toEqual([
      "leak  3.74 KiB  10 of 50 blocks of build (dwz-one.cpp:4) via operator new are lost",
    ]);
    expect(kindsIn(join(folder, "of-dwz"))).toBe("560/10 3270/20 0 76800/2");
  });

  it.skipIf(CASES === undefined)("are told apart as memcheck does, whichever way the program ends", () => {
    const library = join(folder, "libreach.so");
    make("g++", "-shared", "-fPIC", "-o", library, join(CASES!, "lib.cpp"));
    make("g++", "-o", join(folder, "phases"), join(CASES!, "phases.cpp"), library);
    const kinds = [0, 1, 2, 3].map((how) => {
      memshadeRun(folder, ["--quiet", "--out", `of-${how}`, join(folder, "phases"), `${how}`]);
      return kindsIn(join(folder, `of-${how}`));
    });
    expect(kinds).toEqual(["32/1 71/1 0 77224/4", "0 0 0 91410/161", "0 0 0 98376/263", "0 0 0 98376/263"]);
  });

  it.skipIf(CASES === undefined).each([
    ["topch.c", "600/25 0 0 0"],
    ["stale.cpp", "96/2 0 0 78456/105"],
    ["runtime-empty.c", "0 0 0 0"],
    ["runtime-locale.c", "0 0 0 16133/142"],
  ])("are told apart as they are: %s", (source, kinds) => {
    const [name, kind] = source.split(".") as [string, string];
    make(kind === "c" ? "gcc" : "g++", "-o", join(folder, name), join(CASES!, source));
    memshadeRun(folder, ["--quiet", "--out", `of-${name}`, join(folder, name)]);
    expect(kindsIn(join(folder, `of-${name}`))).toBe(kinds);
  });

  it.skipIf(CASES === undefined).each([
    ["reg.c", "0 0 0 7840/98"],
    ["runtime-threads.c", "0 0 0 288/1"],
    ["mover.c", "0 0 0 16000288/200002"],
  ])("are told apart by a copy of the process where threads go on at its end: %s", (source, kinds) => {
    const name = source.replace(".c", "");
    make("gcc", "-o", join(folder, name), join(CASES!, source));
    memshadeRun(folder, ["--quiet", "--out", `of-${name}`, join(folder, name)]);
    expect(kindsIn(join(folder, `of-${name}`))).toBe(kinds);
  });

  it.skipIf(CASES === undefined)(
    "are never lost where only registers of a thread that runs may have them",
    () => {
      make("gcc", "-o", join(folder, "spin"), join(CASES!, "spin.c"));
      memshadeRun(folder, ["--quiet", "--out", "of-spin", join(folder, "spin")]);
      expect(runIn(join(folder, "of-spin")).heap!.reach).toMatchObject({
        lostBlocks: 0,
        indirectlyLostBlocks: 0,
      });
    },
  );

  it.skipIf(CASES === undefined)("are the program's own where it forgot to close something", () => {
    make("gcc", "-o", join(folder, "names"), join(CASES!, "runtime-names.c"));
    memshadeRun(folder, ["--quiet", "--out", "of-names", join(folder, "names")]);
    const { lostBytes, indirectlyLostBytes, possiblyLostBlocks } = runIn(join(folder, "of-names")).heap!
      .reach!;
    expect({ lost: lostBytes + indirectlyLostBytes, possiblyLostBlocks }).toEqual({
      lost: 33_280,
      possiblyLostBlocks: 0,
    });
  });
});

function descendantOf({ pid }: ChildProcess): number {
  const children = (of: number) =>
    readFileSync(`/proc/${of}/task/${of}/children`, "utf8").split(" ").filter(Boolean).map(Number);
  const launcher = children(pid!).find((child) => children(child).length > 0);
  return children(launcher!)[0]!;
}

function isThere(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
