import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { WasteFile } from "../../../src/profile/model/waste.ts";
import { canCompile, compileProgram, memshade, memshadeRun } from "./support/record.ts";

const ROUNDS = 200;

describe.skipIf(!canCompile)("what nobody reads of a native program", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-native-frames-"));
  const program = join(folder, "frames");
  afterAll(() => rmSync(folder, { recursive: true }));

  function wasteOf(options: readonly string[], out = "run"): WasteFile {
    const { status, stderr } = memshadeRun(folder, [
      "--quiet",
      "--tool",
      "waste",
      ...options,
      "--out",
      join(folder, out),
      program,
      `${ROUNDS}`,
    ]);
    expect(status, stderr).toBe(0);
    return JSON.parse(readFileSync(join(folder, out, "waste.json"), "utf8"));
  }

  /** Dead bytes of a function's stores: overwritten, ended with their block or frame, and unread at the end of the run. */
  function deadIn({ stores }: WasteFile, name: string): [number, number, number] {
    const sum: [number, number, number] = [0, 0, 0];
    for (const store of stores.filter(({ ips }) => ips[0].function === name)) {
      sum[0] += store.dead_overwritten;
      sum[1] += store.dead_deallocated;
      sum[2] += store.dead_exit;
    }
    return sum;
  }

  it("is told at its end, but for what others may still see", () => {
    compileProgram("waste-frames.c", program);
    const waste = wasteOf([]);
    expect(deadIn(waste, "keptStatic")).toEqual([0, 0, 8]);
    expect(deadIn(waste, "keptBlock")).toEqual([0, 0, 8]);
    expect(deadIn(waste, "shared")).toEqual([0, 0, 0]);
    expect(deadIn(waste, "unmapped")).toEqual([0, 0, 0]);
    // The stack is excluded.
    expect(deadIn(waste, "argument")).toEqual([0, 0, 0]);
    expect(deadIn(waste, "framed")).toEqual([0, 0, 0]);
    expect(waste.totals.deadExit).toBe(waste.stores.reduce((sum, one) => sum + one.dead_exit, 0));
    for (const one of waste.stores) expect(one.bytes_dead).toBe(one.bytes_written - one.bytes_read);
  });

  it.each(["-O0", "-O1", "-O2"])("ends with frames, with --include-stack: %s", (level) => {
    compileProgram("waste-frames.c", program, [level]);
    const waste = wasteOf(["--include-stack"]);
    const at = (name: string) => deadIn(waste, name);
    expect(waste.notTracked.join()).not.toContain("the stack");
    // A frame leaves no bytes that the next frame could overwrite.
    for (const name of ["leaf", "framed", "argument"]) expect(at(name)[0], name).toBe(0);
    if (level === "-O0") return;
    expect(at("leaf")[1]).toBe(3 * ROUNDS * 8);
    expect(at("framed")[1]).toBe(ROUNDS * 8);
    expect(at("sized")).toEqual([0, ROUNDS * 8, 0]);
    expect(at("keptStatic")[2]).toBe(8);
    expect(at("argument")[1]).toBe(ROUNDS * 8);
    // The record in static memory is overwritten; the record in a frame ends with the frame.
    expect(at("clear")).toEqual([4 * (ROUNDS - 1), 4 * ROUNDS, 4]);
  });

  it("is as deadstores prints it for the example of its documentation, with --compat", () => {
    compileProgram("waste-frames.c", program);
    const waste = wasteOf(["--compat", "deadstores", "--include-stack"], "compat");
    expect(waste.options.compat).toBe("deadstores");
    const [clear, ...others] = waste.stores.filter(({ ips }) => ips[0].function === "clear");
    expect(others).toEqual([]);
    // Four of each sixteen bytes. Memory without an earlier store is not valid: the first store is not silent, nor are stores to new
    // frames.
    expect(clear).toMatchObject({
      nof_stores: 2 * ROUNDS,
      bytes_written: 32 * ROUNDS,
      nof_silent: ROUNDS - 1,
    });
    expect(clear.bytes_read).toBe(24 * ROUNDS);
    const { stdout } = memshade(folder, ["waste-print", "compat", "-n", "40"]);
    const lines = [/0x\w+:\n/, /bytes_written: +6400\n/, /bytes_read: +4800\n/, /bytes_dead: +1600\n/];
    lines.push(/nof_stores: +400\n/, /nof_silent: +199\n/, /at 0x\w+: clear \(in .*waste-frames\.c:\d+\)/);
    expect(stdout).toMatch(new RegExp(lines.map(({ source }) => ` *${source}`).join("")));
    const own = wasteOf(["--include-stack"]).stores.filter(({ ips }) => ips[0].function === "clear");
    expect(own[0].nof_silent).toBe(ROUNDS);
  });

  it("is refused in one line with what native programs have not", () => {
    const { status, stderr } = memshadeRun(folder, ["--tool", "waste", "--pairs", program, "1"]);
    expect(status).toBe(2);
    expect(stderr.trim().split("\n")).toHaveLength(1);
  });
});
