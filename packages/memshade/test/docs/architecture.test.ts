import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const SOURCE = fileURLToPath(new URL("../../src/", import.meta.url));
const PAGE = new URL("../../../../docs/architecture.md", import.meta.url);

function filesBelow(head: string): string[] {
  const [, section = ""] = readFileSync(PAGE, "utf8").split(`\n## ${head}\n`);
  return [...section.split("\n## ", 1)[0]!.matchAll(/`([\w/-]+\.ts)`/g)].map(([, path]) => path!);
}

describe("the ways of a store in docs/architecture.md", () => {
  it.each(["Follow one store of a module", "Follow one store of a native program"])(
    "%s: goes through files that are there",
    (head) => {
      const files = filesBelow(head);
      expect(files.length).toBeGreaterThan(15);
      expect(files.filter((path) => !existsSync(`${SOURCE}${path}`))).toEqual([]);
    },
  );
});
