import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { npmModule } from "../names/symbolize/support.ts";
import { memshade, newFolder } from "./support/command-line.ts";

const cwd = newFolder();
const MODULE = npmModule("node_modules/web-tree-sitter/debug/web-tree-sitter.wasm")!;
const TS_RANGE_EDIT = "ts_range_edit\n/src/lib/src/./get_changed_ranges.c:125:67\n\n";

describe("memshade symbolize", () => {
  it("answers for addresses of arguments and of standard input", async () => {
    const direct = await memshade(["symbolize", "--binary", MODULE, "0x1000"], { cwd });
    expect(direct).toMatchObject({ stdout: TS_RANGE_EDIT, stderr: "", code: 0 });
    const lines = await memshade(["symbolize", "--obj", MODULE, "-"], {
      cwd,
      input: "0x1000\nnothing\n4096",
    });
    expect(lines.stdout).toBe(`${TS_RANGE_EDIT}??\n??:0:0\n\n${TS_RANGE_EDIT}`);
  });

  it.each(["nothing", "nothing+0x10", "12zz", "", "0x"])(
    "refuses %j as an argument: it is no address, and no symbol",
    async (word) => {
      const { stdout, stderr, code } = await memshade(["symbolize", "-e", MODULE, "0x1000", word], { cwd });
      expect({ stdout, code }).toEqual({ stdout: "", code: 2 });
      expect(stderr).toBe(
        `memshade: "${word}" is neither an address, such as 0x1a2b, nor the name of a symbol that ${MODULE} has\n`,
      );
    },
  );

  it("takes the names of symbols as arguments", async () => {
    const { stderr, code } = await memshade(["symbolize", "-e", MODULE, "ts_range_edit"], { cwd });
    expect({ stderr, code }).toEqual({ stderr: "", code: 0 });
  });

  it("prints JSON, with paths as they are here", async () => {
    const { stdout } = await memshade(
      ["symbolize", "-e", MODULE, "--json", "--path-map", "/src/lib=lib", "0x1000"],
      { cwd },
    );
    const [{ Address, Symbol: frames }] = JSON.parse(stdout);
    expect({ Address, frames }).toMatchObject({
      Address: "0x1000",
      frames: [
        { FunctionName: "ts_range_edit", FileName: "lib/src/./get_changed_ranges.c", Line: 125, Column: 67 },
      ],
    });
  });

  it("answers what it can of a file that is cut, and says so", async () => {
    writeFileSync(join(cwd, "cut.wasm"), readFileSync(MODULE).subarray(0, 300));
    const { stdout, stderr, code } = await memshade(["symbolize", "-e", "cut.wasm", "0x10"], { cwd });
    expect({ stdout, code }).toEqual({ stdout: "??\n??:0:0\n\n", code: 0 });
    expect(stderr).toMatch(/^memshade: cut\.wasm is damaged, not all is known: .* bytes do not fit\n$/);
  });

  it("says in one line what is wrong with the file", async () => {
    writeFileSync(join(cwd, "empty.wasm"), "");
    for (const file of ["absent.wasm", "empty.wasm", "."]) {
      const { stdout, stderr, code } = await memshade(["symbolize", "-e", file, "0"], { cwd });
      expect({ stdout, code }).toEqual({ stdout: "", code: 2 });
      expect(stderr.trim().split("\n")).toHaveLength(1);
    }
  });
});
