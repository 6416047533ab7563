import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { LocalityState } from "../../../../src/tools/working-set/read/read-locality.ts";

const LAYOUT = readFileSync(
  new URL("../../../../src/tools/working-set/assembly/locality/layout.ts", import.meta.url),
  "utf8",
);

it("the state of the locality is where the code inside the module has it", () => {
  const fields = [...LAYOUT.matchAll(/^export const L_(\w+): \w+ = (\d+);/gm)];
  expect(Object.fromEntries(fields.map(([, name, value]) => [name, Number(value)]))).toEqual(LocalityState);
});
