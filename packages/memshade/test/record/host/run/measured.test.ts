import { describe, expect, it } from "vitest";
import { readMeasured, readRun } from "../../../../src/profile/model/read-run.ts";
import { takeRun } from "../../../../src/record/host/run/measured.ts";
import { type ProfileFile, profileFiles, Recorder } from "../../../../src/record/host/run/recorder.ts";

const END = { kind: "exit", exitCode: 0 } as const;
const newRecorder = () => new Recorder({ tools: {}, command: ["test"], program: "test" });
const textOf = (files: ProfileFile[], name: string) =>
  String(files.find((file) => file.name === name)?.contents);

describe("the files of a run folder", () => {
  it("say what the process took, in a file that run.json names and that comes before it", () => {
    const { files } = takeRun(newRecorder(), END, 12.4);
    expect(files.map(({ name }) => name)).toEqual(["measured.json", "heap.memprofraw", "run.json"]);
    expect(readRun(textOf(files, "run.json")).files.measured).toBe("measured.json");
    const { process: cost } = readMeasured(textOf(files, "measured.json"));
    const { peakBytes, processorMs, rewritingMs, profileMs } = cost!;
    expect(peakBytes).toBeGreaterThan(process.memoryUsage().rss / 4);
    expect(processorMs).toBeGreaterThan(0);
    expect(rewritingMs).toBe(12);
    expect(profileMs).toBeLessThanOrEqual(processorMs);
  });

  it("are the same in every run but for that one, whatever was measured", () => {
    const recorder = newRecorder();
    const [one, other] = [1, 2000].map((rewritingMs) => takeRun(recorder, END, rewritingMs).files);
    expect(one.slice(1)).toEqual(other.slice(1));
    expect(one[0]).not.toEqual(other[0]);
  });

  it("are without it where somebody else writes them", () => {
    const files = profileFiles(newRecorder().takeProfile(END));
    expect(files.map(({ name }) => name)).toEqual(["heap.memprofraw", "run.json"]);
    expect(readRun(textOf(files, "run.json")).files).toEqual({ heap: "heap.memprofraw" });
  });
});
