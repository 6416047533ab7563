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
