import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { memshade, newFolder } from "./support/command-line.ts";

const PROGRAM = fileURLToPath(new URL("../fixtures/programs/allocation/lifecycle.wasm", import.meta.url));

function moduleWithMap(map: string): { cwd: string; module: string } {
  const cwd = newFolder();
  const [name, url] = ["sourceMappingURL", "app.wasm.map"];
  const content = [name.length, ...Buffer.from(name), url.length, ...Buffer.from(url)];
  const section = Buffer.from([0, content.length, ...content]);
  writeFileSync(join(cwd, "app.wasm"), Buffer.concat([readFileSync(PROGRAM), section]));
  writeFileSync(join(cwd, url), map);
  return { cwd, module: "app.wasm" };
}

describe("a damaged source map beside a module", () => {
  it.each([
    '{"version": 3, "sources": ["a.ts"], "names": [], "mappings": 5}',
    '{"version": 3, "sources": ["a.ts"], "names": [], "mappings": "AAAA", "ignoreList": 5}',
    "{}",
    "[[5]]",
    "",
    "no map",
  ])("(%s) leaves the program's exit code and every report, and is told in a line", async (map) => {
    const { cwd, module } = moduleWithMap(map);
    const run = await memshade(["run", "--out", "run", module], { cwd });
    expect({
      code: run.code,
      told: run.stderr.match(/^memshade: app\.wasm has a damaged source map/gm),
    }).toEqual({
      code: 0,
      told: ["memshade: app.wasm has a damaged source map"],
    });
    const report = await memshade(["report", "run"], { cwd });
    expect(report.code).toBe(0);
    expect(report.stdout).toContain("app.wasm has a damaged source map");
    const check = await memshade(["check", "run", "--max", "allocated<1GiB"], { cwd });
    expect(check.stderr).not.toContain("internal error");
    const symbolize = await memshade(["symbolize", "--binary", module, "0x100"], { cwd });
    expect(symbolize).toMatchObject({ code: 0, stdout: "never_touched\n??:0:0\n\n" });
    expect(symbolize.stderr).toContain("app.wasm has a damaged source map");
  });
});
