import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSourceReader } from "../../src/runs/source.ts";

const folder = mkdtempSync(join(tmpdir(), "memshade-source-"));
const recorded = { modules: ["/gone/project/build/app.wasm"] };
beforeAll(() => {
  for (const path of ["here/build", "here/src/deep", "here/build/lib"])
    mkdirSync(join(folder, path), { recursive: true });
  for (const path of [
    "here/build/app.wasm",
    "here/build/beside.c",
    "here/build/lib/part.c",
    "here/src/deep/near.c",
  ])
    writeFileSync(join(folder, path), `of ${path}\n`);
});
afterAll(() => rmSync(folder, { recursive: true }));

const module = join(folder, "here/build/app.wasm");
const firstLine = (file: string, binaryPath?: string) =>
  createSourceReader([], { ...recorded, binaryPaths: binaryPath === undefined ? [] : [binaryPath] })(
    file,
  )?.[0];

describe("source files of a module that the user names, as a file or its folder,", () => {
  it.each([module, join(folder, "here/build")])("lie beside it or below its folder (%#)", (place) => {
    expect(firstLine("./beside.c", place)).toBe("of here/build/beside.c");
    expect(firstLine("/gone/project/build/beside.c", place)).toBe("of here/build/beside.c");
    expect(firstLine("/elsewhere/lib/part.c", place)).toBe("of here/build/lib/part.c");
  });

  it.each([module, join(folder, "here/build")])(
    "lie where they were beside the recorded one (%#)",
    (place) => {
      expect(firstLine("../src/deep/near.c", place)).toBe("of here/src/deep/near.c");
      expect(firstLine("/gone/project/src/deep/near.c", place)).toBe("of here/src/deep/near.c");
    },
  );

  it("lie below a folder of the user's that is the module's parent", () => {
    expect(firstLine("/gone/project/src/deep/near.c", join(folder, "here"))).toBe("of here/src/deep/near.c");
  });

  it("are not found where nobody says where they are", () => {
    for (const file of ["./beside.c", "/gone/project/build/beside.c", "../src/deep/near.c"])
      expect(firstLine(file), file).toBeUndefined();
  });
});
