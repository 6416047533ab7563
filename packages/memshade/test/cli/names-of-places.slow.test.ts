import { describe, expect, it } from "vitest";
import { memshade, newFolder } from "./support/command-line.ts";

const cwd = newFolder();

async function refusal(...args: string[]): Promise<string> {
  const { stdout, stderr, code } = await memshade(args, { cwd });
  expect({ args, stdout, code }).toEqual({ args, stdout: "", code: 2 });
  return stderr;
}

describe("places where nothing is", () => {
  it.each(["report", "view", "top", "tree", "diff", "check", "export", "unwind"])(
    "are told by %s, where its modules were to be looked for",
    async (verb) => {
      expect(await refusal(verb, "run", "--binary-path", ".", "--binary-path", "nothere")).toBe(
        "memshade: --binary-path nothere: there is no such file or folder\n",
      );
    },
  );

  it.each(["unwind", "symbolize"])("are told by %s as places of debug files", async (verb) => {
    expect(await refusal(verb, "core", "--debug-file-directory", "nothere")).toBe(
      "memshade: --debug-file-directory nothere: there is no such file or folder\n",
    );
  });
});

describe("empty names", () => {
  it.each(
    "report view top tree check export waste-print unwind run node browser".split(" ").map((verb) => [verb]),
  )("are told by %s as what they are", async (verb) => {
    expect(await refusal(verb, "")).toMatch(
      /^memshade: the argument <(run|file|input|program|script\.js|url)> is empty\n$/,
    );
  });

  it.each([
    [["diff", "", "run"], "the argument <old>"],
    [["diff", "run", ""], "the argument <new>"],
    [["merge", "run", "", "-o", "merged"], "the argument <input>"],
    [["merge", "run", "-o", ""], "--output"],
    [["instrument", "", "-o", "out.wasm"], "the argument <in.wasm>"],
    [["store", "add", "", "--to", "store"], "the argument <run>"],
    [["store", "trend", ""], "the argument <store>"],
    [["store", "add", "run", "--to", ""], "--to"],
    [["report", "run", "--suppressions", ""], "--suppressions"],
    [["report", "run", "--binary-path", ""], "--binary-path"],
    [["report", "run", "--html", ""], "--html"],
    [["check", "run", "--limit", "left=0", "--budget", ""], "--budget"],
    [["check", "run", "--limit", "left<+1", "--baseline", ""], "--baseline"],
    [["check", "--list", "-o", ""], "--output"],
    [["export", "run", "--format", "pprof", "-o", ""], "--out"],
    [["symbolize", "--binary", "", "0x1"], "--binary"],
    [["unwind", "core", "--sysroot", ""], "--sysroot"],
    [["run", "--out", "", "program.wasm"], "--out"],
    [["run", "--dir", "", "program.wasm"], "--dir"],
  ])("are told with what they are given for: %j", async (args, named) => {
    expect(await refusal(...args)).toBe(
      `memshade: ${named.startsWith("--") ? `the value of ${named}` : named} is empty\n`,
    );
  });

  it("go to the program as they are", async () => {
    const { stdout, code } = await memshade(["run", "--quiet", "printf", "[%s]", "", "b"], { cwd });
    expect({ stdout, code }).toEqual({ stdout: "[][b]", code: 0 });
  });
});
