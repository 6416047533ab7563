import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { withStoreTables } from "../../scripts/store-tables.ts";

describe("the page about many runs", () => {
  it("has the tables as they are (node packages/memshade/scripts/write-store-tables.ts)", () => {
    const page = readFileSync(new URL("../../../../docs/fleet.md", import.meta.url), "utf8");
    expect(page).toBe(withStoreTables(page));
  });
});
