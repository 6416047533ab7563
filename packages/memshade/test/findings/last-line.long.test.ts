import { fileURLToPath } from "node:url";
import { describe, it } from "vitest";
import { memshade, newFolder } from "../cli/support/command-line.ts";
import { PLANTED } from "./judge.ts";

/** Programs whose waste only the waste tool tells, with the figure of the heap's recording that leads to it. */
const LEADING: readonly (readonly [string, RegExp])[] = [
  // Each of 4,095 steps of 20 passes loads two values again.
  [
    "c/aliased-scale.wasm",
    /; 163,8\d\d of \S+( K| M)? accesses load an address again in a loop: --tool waste /,
  ],
  // 49 of 50 buffers of 8,192 bytes were used before.
  ["c/clear-before-fill.wasm", /; 392 KiB are filled with one value: --tool waste /],
  ["c/frame-server.wasm", /^memshade: 2\.93 MiB are filled with one value: --tool waste /],
];

const SOUND: readonly string[] = [
  "sound/matrix.wasm",
  "sound/lru.wasm",
  "sound/gamma.wasm",
  "sound/life.wasm",
];

describe.concurrent("who reads the last line of a run without options", () => {
  const folder = newFolder();

  async function lastLine(program: string): Promise<string> {
    const out = `${folder}/${program.replaceAll("/", "-")}`;
    const { stderr } = await memshade(["run", "--out", out, fileURLToPath(new URL(program, PLANTED))], {
      cwd: folder,
    });
    return stderr.trimEnd().split("\n").at(-1) ?? "";
  }

  it.for(LEADING)("is led to the waste tool by a figure of %s", async ([program, line], { expect }) => {
    expect(await lastLine(program)).toMatch(line);
  });

  it.for(SOUND)("is led nowhere by %s", async (program, { expect }) => {
    expect(await lastLine(program)).toBe("memshade: no findings among blocks");
  });
});

describe.concurrent("who runs a program without options", () => {
  const folder = newFolder();

  it("is told of holes in a type by the module's debug information", async ({ expect }) => {
    const program = fileURLToPath(new URL("cpp/samples.wasm", PLANTED));
    const { stderr } = await memshade(["run", "--out", `${folder}/samples`, program], { cwd: folder });
    expect(stderr).toMatch(
      /^memshade: padding +3\.05 MiB .* are holes in Sample: 24 of its 40 bytes would do$/m,
    );
  });
});
