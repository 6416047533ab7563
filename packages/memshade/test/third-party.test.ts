import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { noticesText, packageFolders, readPackage } from "../scripts/third-party.ts";

const folder = mkdtempSync(join(tmpdir(), "memshade-third-party-"));
afterAll(() => rmSync(folder, { recursive: true }));

function drawPackage(name: string, files: Readonly<Record<string, string>>): string {
  const place = join(folder, name);
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, "package.json"), JSON.stringify({ name, version: "1.2.3", license: "MIT" }));
  for (const [file, text] of Object.entries(files)) writeFileSync(join(place, file), text);
  return place;
}

describe("notices of bundled packages", () => {
  it("are of every package that has a module in the bundle, once", () => {
    const modules = [
      "/a/src/index.ts",
      "/a/node_modules/one/dist/x.js",
      "/a/node_modules/one/dist/y.js",
      "/a/node_modules/@scope/two/index.js",
      "/a/node_modules/one/node_modules/three/index.js",
      "\0/a/node_modules/four/index.js?commonjs",
    ];
    expect(packageFolders(modules)).toEqual([
      "/a/node_modules/one",
      "/a/node_modules/@scope/two",
      "/a/node_modules/one/node_modules/three",
      "/a/node_modules/four",
    ]);
  });

  it("name the bundler where it adds code of its own", () => {
    expect(packageFolders(["\0rolldown/runtime.js"])).toEqual([
      expect.stringMatching(/\/node_modules\/rolldown$/),
    ]);
  });

  it("have name, version and the texts of licences and notices", () => {
    const zebra = drawPackage("zebra", {
      "LICENSE.md": "Do as you like.",
      NOTICE: "By Z.",
      "lib.js": "code",
    });
    const ape = drawPackage("@tree/ape", { licence: "Be kind." });
    const text = noticesText([readPackage(zebra), readPackage(ape)]);
    expect(text).toContain("zebra 1.2.3 (MIT)\n\nDo as you like.\n\nBy Z.\n");
    expect(text.indexOf("@tree/ape 1.2.3 (MIT)\n\nBe kind.\n")).toBeLessThan(text.indexOf("zebra"));
    expect(text).not.toContain("code\n");
  });

  it("are refused to be made without a text", () => {
    const bare = drawPackage("bare", {});
    expect(() => readPackage(bare)).toThrow("bare is bundled and has no text of its licence");
  });
});
