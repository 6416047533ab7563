import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sourceOfBytes } from "../../../../src/ground/bytes/byte-source.ts";
import { readFastYaml } from "../../../../src/profile/formats/memprof-text/fast-yaml.ts";
import { indexedProfileText } from "../../../../src/profile/formats/memprof-text/index.ts";
import { readMemprofYaml } from "../../../../src/profile/formats/memprof-text/read-yaml.ts";
import { anyContext, mergerOf } from "../memprof-indexed/contexts.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const readFast = (text: string) => readFastYaml(sourceOfBytes(encode(text)));

describe("YAML as tools write it", () => {
  const anyText = fc
    .array(anyContext, { minLength: 1, maxLength: 30 })
    .map((contexts) => [...indexedProfileText(mergerOf(contexts).build().profile)].join(""))
    // Empty stacks, which no tool writes, are left to the other reader.
    .filter((text) => !/(?:Frames|Callstack):\n(?! {10}- )/.test(text));

  it("is read line by line as it is read by the reader of any YAML", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(readFast(text)).toEqual(readMemprofYaml(encode(text)));
      }),
      { numRuns: 60 },
    );
  });

  it("is left to that one, or read as that one does, whatever line is missing, doubled or changed", () => {
    fc.assert(
      fc.property(
        anyText,
        fc.nat(),
        fc.constantFrom("drop", "double", "indent", "digit"),
        (text, seed, change) => {
          const lines = text.split("\n");
          const at = seed % lines.length;
          const line = lines[at]!;
          if (change === "drop") lines.splice(at, 1);
          else if (change === "double") lines.splice(at, 0, line);
          else lines[at] = change === "indent" ? ` ${line}` : line.replace(/[0-9]/, "x");
          const changed = lines.join("\n");
          const read = readFast(changed);
          if (read !== undefined) expect(read).toEqual(readMemprofYaml(encode(changed)));
        },
      ),
      { numRuns: 150 },
    );
  });

  it.each([
    ["a flow style", (text: string) => text.replace("{ Function: ", "{Function: ")],
    ["a carriage return", (text: string) => text.replaceAll("\n", "\r\n")],
    [
      "a number that is too large",
      (text: string) => text.replace(/AllocCount: +[0-9]+/, "AllocCount: 4294967296"),
    ],
    ["no end", (text: string) => text.replace("...\n", "")],
  ])("is not %s", (_, change) => {
    const [text] = fc.sample(anyText, { seed: 1, numRuns: 1 });
    expect(readFast(text!)).toBeDefined();
    expect(readFast(change(text!))).toBeUndefined();
  });
});
