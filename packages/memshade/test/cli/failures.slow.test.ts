import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { MAIN } from "../command.ts";
import { memshade, newFolder } from "./support/command-line.ts";

it.skipIf(process.platform === "win32")("a current folder that was removed is told in a line", () => {
  const script = 'cd "$(mktemp -d)"; rmdir "$PWD"; exec "$@"';
  for (const out of [[], ["--out", "/tmp/memshade-nowhere"]]) {
    const words = [process.execPath, MAIN, "run", ...out, "/bin/true"];
    const { status, stderr } = spawnSync("sh", ["-c", script, "sh", ...words], { encoding: "utf8" });
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: "memshade: the folder that memshade was started in was removed; start it in another one\n",
    });
  }
});

it.each([
  "check INPUT --limit dead<1",
  "tree INPUT --by dead",
  "top INPUT --by dead",
  "top INPUT --by dead-pairs",
  "export INPUT --format speedscope --tool waste",
  "export INPUT --format csv --tool workingset",
])("what is no run is not told to lack a tool: %s", async (line) => {
  const cwd = newFolder();
  writeFileSync(join(cwd, "text"), "no profile\n");
  const outcome = (input: string) => memshade(line.replace("INPUT", input).split(" "), { cwd });
  expect(await outcome("missing")).toMatchObject({
    code: 2,
    stderr: "memshade: missing: there is no such file or directory\n",
  });
  const { code, stderr } = await outcome("text");
  expect(code).toBe(2);
  expect(stderr).toMatch(/^memshade: text is not a MemProf profile, and none of .*\n$/);
});
