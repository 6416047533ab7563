import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import {
  AttributionKey,
  AttributionState,
  BLOCK_BYTES,
  Block,
  ENTRY_BYTES,
  Entry,
  EntryKind,
  OWNED_BYTES,
  Owned,
  SETTLED_BYTES,
  Settled,
} from "../../../../src/tools/working-set/read/attribution-offsets.ts";

const LAYOUT = readFileSync(
  new URL("../../../../src/tools/working-set/assembly/attribution/layout.ts", import.meta.url),
  "utf8",
);

/** `export const A_KEY: usize = 0` … by their names without a prefix. */
function constantsLike(pattern: string): Record<string, number> {
  const constants = [...LAYOUT.matchAll(new RegExp(`^export const ${pattern}: \\w+ = (\\d+);`, "gm"))];
  return Object.fromEntries(constants.map(([, name, value]) => [name, Number(value)]));
}

it("the tables of the attribution are where the code inside the module has them", () => {
  expect(constantsLike("A_(\\w+)")).toEqual(AttributionState);
  expect(constantsLike("E_(\\w+)")).toEqual(Entry);
  expect(constantsLike("B_(\\w+)")).toEqual(Block);
  expect(constantsLike("O_(\\w+)")).toEqual(Owned);
  expect(constantsLike("T_(\\w+)")).toEqual(Settled);
  expect(constantsLike("(\\w+_KIND)")).toEqual(EntryKind);
  expect(constantsLike("(\\w+_KEY|NO_KEY|OTHERS|UNKNOWN_SITE)")).toMatchObject(AttributionKey);
  expect(constantsLike("(\\w{2,}_SIZE)")).toEqual({
    ENTRY_SIZE: ENTRY_BYTES,
    BLOCK_SIZE: BLOCK_BYTES,
    SETTLED_SIZE: SETTLED_BYTES,
    OWNED_SIZE: OWNED_BYTES,
    LAST_SIZE: 16,
  });
});
