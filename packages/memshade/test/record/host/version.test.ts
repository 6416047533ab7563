import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { MEMSHADE_VERSION } from "../../../src/profile/model/version.ts";

it("the version in profiles is that of the package", () => {
  const manifest = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"));
  expect(MEMSHADE_VERSION).toBe(manifest.version);
});
