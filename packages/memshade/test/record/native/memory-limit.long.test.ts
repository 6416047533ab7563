import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MAIN } from "../../command.ts";
import { canCompile, compileProgram, memshade, memshadeRun, runIn } from "./support/record.ts";

const SHARED_MEMORY = "/dev/shm";
const LIMIT = 20 * 2 ** 20;

function foldersOf(pid: number): string[] {
  return readdirSync(SHARED_MEMORY).filter((name) => {
    try {
      return JSON.parse(readFileSync(join(SHARED_MEMORY, name, "owner"), "utf8")).pid === pid;
    } catch {
      return false;
    }
  });
}

describe.skipIf(!canCompile)("memory that recording a native program takes", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-limit-"));
  const program = join(folder, "growing");
  beforeAll(() => compileProgram("growing.c", program, ["-fno-builtin"]));
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each(["heap", "waste", "workingset"])(
    "has a limit, at which recording ends and the program goes on: %s",
    (tool) => {
      const alone = spawnSync(program, ["300"], { encoding: "utf8" }).stdout;
      const args = ["--out", tool, "--tool", tool, "--memory-limit", "1M", "--", program, "300"];
      const { status, stdout, stderr } = memshadeRun(folder, args);
      expect({ status, stdout }).toEqual({ status: 9, stdout: alone });
      expect(stderr).toMatch(/recording has taken 1 MiB of memory, which is its limit: the recording ends/);
      const { end, presence } = runIn(join(folder, tool));
      expect({ end, limit: presence!.limit }).toEqual({
        end: { kind: "exit", exitCode: 9, isLater: true },
        limit: 2 ** 20,
      });
      // After the limit, releases of the earlier blocks are not recorded.
      expect(memshade(folder, ["report", tool]).stdout).not.toContain("never released");
      expect(memshade(folder, ["report", tool]).stdout.replace(/\s+/g, " ")).toContain(
        "The recording reached --memory-limit and ended before the program",
      );
    },
  );

  it("is what a run tells that its limit was, though nothing came near it", () => {
    const { status } = memshadeRun(folder, [
      "--quiet",
      "--out",
      "free",
      "--memory-limit",
      "20MiB",
      program,
      "1",
    ]);
    expect(status).toBe(9);
    const { presence, heap } = runIn(join(folder, "free"));
    expect(presence!.limit).toBe(LIMIT);
    expect(heap!.notTracked!.join()).not.toContain("--memory-limit");
    memshadeRun(folder, ["--quiet", "--out", "usual", program, "1"]);
    expect(runIn(join(folder, "usual")).presence!.limit).toBeGreaterThan(LIMIT);
  });

  it("is given back when somebody kills memshade", async () => {
    const recorder = spawn(process.execPath, [MAIN, "run", "--tool", "heap", program], {
      cwd: folder,
      stdio: ["pipe", "pipe", "ignore"],
    });
    const [text] = await once(recorder.stdout, "data");
    expect(foldersOf(recorder.pid!)).toHaveLength(1);
    recorder.kill("SIGKILL");
    await once(recorder, "exit");
    for (let i = 0; i < 200 && foldersOf(recorder.pid!).length > 0; i++) await delay(50);
    expect(foldersOf(recorder.pid!)).toEqual([]);
    // The process may have ended by itself when its streams were closed.
    spawnSync("kill", ["-9", String(Number(text))]);
  });
});
