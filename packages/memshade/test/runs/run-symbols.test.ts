import { createHash } from "node:crypto";
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { RunModule } from "../../src/profile/model/run.ts";
import { RunSymbols } from "../../src/runs/run-symbols.ts";
import { newFolder } from "../cli/support/command-line.ts";

const SHOP = fileURLToPath(new URL("../../demo/shop.wasm", import.meta.url));
const buildId = createHash("sha256").update(readFileSync(SHOP)).digest("hex").slice(0, 40);

/** A module without a file, as `profile()` names it. */
const module = { name: "shop#1f8ea2", path: null, buildId } as RunModule;

describe("the original modules of a run", () => {
  it("are files that the user named, whatever these are called", () => {
    const renamed = join(newFolder(), "app.wasm");
    copyFileSync(SHOP, renamed);
    expect(new RunSymbols({ binaryPaths: [renamed] }).codeOf(module)).toBeDefined();
  });

  it("are no other modules, and nothing is said of these", () => {
    const symbols = new RunSymbols({ binaryPaths: [SHOP] });
    expect(symbols.symbolsOf({ ...module, buildId: buildId.replaceAll(/./g, "0") })).toBeUndefined();
    expect(symbols.missing).toEqual([]);
  });
});
