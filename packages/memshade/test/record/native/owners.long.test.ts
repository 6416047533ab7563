import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type {
  AttributedContext,
  InstanceWorkingSet,
} from "../../../src/profile/model/working-set/working-set.ts";
import { WORKING_SET_FILE } from "../../../src/runs/working-set.ts";
import { canCompile, compileProgram, memshade, memshadeRun, runIn } from "./support/record.ts";

/** Shares are written with six digits; this many units of the last digit may add up. */
const DIGITS = 3;
/** Lines that the C library touches in addition. */
const BESIDE = 150;

/** Expects that the owners' lines add up to the lines of each interval and of the run. */
function expectWhole({ levels, total, owners }: InstanceWorkingSet): void {
  levels.forEach(({ counts }, level) => {
    const { intervals, others } = owners!.levels[level];
    counts.lines!.forEach((lines, i) => {
      expect(intervals[i].reduce((sum, [, share]) => sum + share, others[i])).toBeCloseTo(lines, DIGITS);
    });
  });
  const { contexts, otherContexts } = owners!;
  expect(contexts.reduce((sum, one) => sum + one.total, otherContexts.total)).toBeCloseTo(
    total.lines!,
    DIGITS,
  );
}

const isFrom = (name: string) => (context: AttributedContext) =>
  context.stack.some((frame) => frame.name === name);

const isFromEither = (context: AttributedContext) => isFrom("first")(context) || isFrom("second")(context);

describe.skipIf(!canCompile)("owners of a native program's working set", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-owners-"));
  const program = join(folder, "owned");
  beforeAll(() => compileProgram("owned.c", program, ["-pthread"]));
  afterAll(() => rmSync(folder, { recursive: true }));

  const record = (out: string, command: readonly string[], ...options: string[]) => {
    const how = ["--quiet", "--tool", "workingset", "--who", ...options, "--out", join(folder, out)];
    const { status, stdout, stderr } = memshadeRun(folder, [...how, ...command], { PYTHONHASHSEED: "0" });
    expect(stderr).toBe("");
    const [instance] = WORKING_SET_FILE.load(join(folder, out)).instances;
    return { status, stdout, instance };
  };
  const linesOf = ({ owners }: InstanceWorkingSet, which: (context: AttributedContext) => boolean) =>
    owners!.contexts.filter(which).reduce((sum, { total }) => sum + total, 0);

  it("are who allocated, the stack, static data by object, and mapped files", () => {
    const { stdout, instance } = record("blocks", [program, "blocks"]);
    expect(stdout).toBe("done\n");
    expectWhole(instance);
    // The allocator's words beside a block may lie in one further line.
    expect(linesOf(instance, isFrom("first")) - 3000).toBeLessThan(3);
    expect(linesOf(instance, isFrom("first"))).toBeGreaterThanOrEqual(3000);
    // The block has 32 bytes, and the allocator's words lie in front of it: three quarters of the line belong to one owner, a quarter to
    // the other.
    expect(linesOf(instance, isFrom("second"))).toBeGreaterThan(900);
    expect(linesOf(instance, ({ kind, of }) => kind === "static" && of === "owned")).toBeGreaterThanOrEqual(
      500,
    );
    expect(
      linesOf(instance, ({ kind, of }) => kind === "mapping" && of === "owned.txt"),
    ).toBeGreaterThanOrEqual(400);
    expect(linesOf(instance, ({ kind }) => kind === "stack")).toBeGreaterThanOrEqual(200);
    // Memory that the program mapped itself belongs to no block.
    expect(linesOf(instance, ({ kind }) => kind === "heap")).toBeGreaterThanOrEqual(700);
  });

  it("are mapped files of a program that is over before anybody has looked", () => {
    const { instance } = record("brief", [program, "brief"]);
    expectWhole(instance);
    expect(
      linesOf(instance, ({ kind, of }) => kind === "mapping" && of === "owned.txt"),
    ).toBeGreaterThanOrEqual(400);
  });

  it("have ranges that the program maps, where these are blocks", () => {
    const { instance } = record("mapped", [program, "blocks"], "--mmap");
    expectWhole(instance);
    const mapped = linesOf(instance, isFrom("map_anonymous"));
    expect(mapped).toBeGreaterThanOrEqual(700);
    expect(mapped).toBeLessThan(710);
  });

  it("are the last ones of blocks that have ended meanwhile", () => {
    const { instance } = record("ended", [program, "ended"], "--interval", "100000acc");
    expectWhole(instance);
    // The allocator reuses the same memory for both sites.
    expect(linesOf(instance, isFrom("first"))).toBeGreaterThan(0);
    expect(linesOf(instance, isFrom("second"))).toBeGreaterThan(0);
    expect(linesOf(instance, isFromEither)).toBeGreaterThanOrEqual(10 + 31);
    expect(linesOf(instance, ({ kind }) => kind === "heap")).toBeLessThan(BESIDE);
  });

  it("are those of blocks that threads allocate, use and give back", () => {
    const { stdout, instance } = record("threads", [program, "threads"], "--interval", "5ms");
    expect(stdout).toBe("done\n");
    expectWhole(instance);
    expect(linesOf(instance, isFromEither)).toBeGreaterThanOrEqual(8 * (10 + 31));
    // Each thread has its own allocator tables.
    expect(linesOf(instance, ({ kind }) => kind === "heap")).toBeLessThan(8 * BESIDE);
  });

  it("are in the report, the table, the tree and the CSV; first touches are refused in words", () => {
    record("shown", [program, "blocks"]);
    const said = (...args: string[]) => memshade(folder, args);
    const { stdout: report } = said("report", "shown");
    expect(report).toMatch(/^Owners {2}\(whose blocks/m);
    expect(report).toMatch(/ first owned\.c:\d+/);
    expect(report).toContain("(static data: owned)");
    expect(report).toContain("(mapped file: owned.txt)");
    expect(report).not.toContain("Heap profile");
    expect(said("top", "--by", "share", "shown").stdout).toMatch(/ first \(owned\.c:\d+\)/);
    expect(said("tree", "--by", "share", "shown").stdout).toContain("first (owned.c");
    expect(said("report", "--csv", "shown").stdout).toMatch(/,owners,\d+,static,owned,/);
    const { status, stderr } = said("top", "--by", "first-touch", "shown");
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: expect.stringMatching(
        /^memshade: --by first-touch needs a run .*--who when a WebAssembly program is recorded: shown has .*share/,
      ),
    });
  });

  it("come with the heap profile where that is asked for", () => {
    const out = join(folder, "both");
    const given = ["--quiet", "--tool", "alloc,workingset", "--who", "--out", out, program, "blocks"];
    expect(memshadeRun(folder, given).status).toBe(0);
    expect(runIn(out).heap!.allocations).toBeGreaterThan(1000);
    expectWhole(WORKING_SET_FILE.load(out).instances[0]);
  });

  it("need the tool, in one line", () => {
    const { status, stderr } = memshadeRun(folder, ["--who", program]);
    expect(status).toBe(2);
    expect(stderr.trim().split("\n")).toEqual([expect.stringContaining("add --tool workingset")]);
  });

  it.each([
    ["/usr/bin/perl", "-e", 'my %h; $h{$_ % 997} .= $_ for 1 .. 50000; print scalar keys %h, "\\n"'],
    ["/usr/bin/python3", "-S", "-c", "print(sum(hash((i, i * i)) for i in range(50000)))"],
  ])("leave what %s prints as it is", (...command) => {
    if (!existsSync(command[0])) {
      console.warn(`SKIPPED: ${command[0]} is not installed`);
      return;
    }
    const env = { ...process.env, PYTHONHASHSEED: "0" };
    const plain = spawnSync(command[0], command.slice(1), { encoding: "utf8", env });
    const { status, stdout, instance } = record("real", command);
    expect({ status, stdout }).toEqual({ status: plain.status, stdout: plain.stdout });
    expectWhole(instance);
    // Python has an allocator of its own on top of mapped ranges.
    expect(linesOf(instance, ({ kind }) => kind === "code")).toBeGreaterThan(0.2 * instance.total.heap!);
  });
});
