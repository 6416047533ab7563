import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { WasteFile } from "../../../src/profile/model/waste.ts";
import { canCompile, compileProgram, memshadeRun } from "./support/record.ts";

describe.skipIf(!canCompile)("what system calls read of a native program", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-waste-calls-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  it("is no dead store, whatever structure it lies in, and what lies behind it is, as far as the call says how far it came", () => {
    const program = join(folder, "calls");
    compileProgram("waste-system-calls.c", program, ["-w"]);
    const out = join(folder, "run");
    const { status, stderr } = memshadeRun(folder, [
      "--quiet",
      "--tool",
      "waste",
      "--out",
      out,
      program,
      "101",
    ]);
    expect(status, stderr).toBe(0);
    const { stores, notTracked }: WasteFile = JSON.parse(readFileSync(join(out, "waste.json"), "utf8"));
    const dead: Record<string, number> = {};
    for (const { ips, dead_overwritten } of stores) {
      // The C library writes too: the time that `select` has left.
      const { function: name = "", file } = ips[0];
      if (dead_overwritten > 0 && name !== "main" && file?.endsWith("waste-system-calls.c"))
        dead[name] = dead_overwritten;
    }
    const past = ["past_read", "past_readv", "past_recvmsg", "past_failed", "past_link"];
    const deadPast = Object.fromEntries(past.map((name) => [name, 800]));
    expect(dead).toEqual({ behind: 800, behind2: 800, reallydead: 400, ...deadPast });
    expect(notTracked.join("\n")).not.toContain("unknown effects on memory");
  });
});
