import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { readMeasured } from "../../../../src/profile/model/read-run.ts";

describe.skipIf(process.platform !== "linux")("the peak of a process", () => {
  it("is its own, however large the one that started it is", () => {
    const large = Buffer.alloc(400 << 20, 1);
    const source = (path: string) =>
      JSON.stringify(new URL(`../../../../src/record/host/run/${path}`, import.meta.url));
    const script = `const { takeRun } = await import(${source("measured.ts")});
      const { Recorder } = await import(${source("recorder.ts")});
      const recorder = new Recorder({ tools: {}, command: [], program: "" });
      console.log(String(takeRun(recorder, { kind: "exit" }, 0).files[0].contents));`;
    const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
      encoding: "utf8",
      env: { ...process.env, NODE_OPTIONS: "" },
    });
    expect(stderr).toBe("");
    const { peakBytes } = readMeasured(stdout).process!;
    expect(peakBytes).toBeGreaterThan(20 << 20);
    expect(peakBytes).toBeLessThan(large.length);
  });
});
