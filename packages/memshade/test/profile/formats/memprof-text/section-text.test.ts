import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { joinPieces } from "../../../../src/ground/bytes/file-piece.ts";
import {
  openSection,
  readIndexed,
  readLinear,
  writeMerged,
} from "../../../../src/profile/formats/memprof-indexed/index.ts";
import { indexedProfileText, sectionText } from "../../../../src/profile/formats/memprof-text/index.ts";
import { HOT_COLD_FIELDS } from "../../../../src/profile/model/memprof/index.ts";
import { MIB_FIELDS } from "../../../../src/profile/model/mib-fields.ts";
import { anyContext, mergerOf } from "../memprof-indexed/contexts.ts";

it("an indexed profile is printed out of its file as it is when all of it is read first", () => {
  fc.assert(
    fc.property(
      fc.array(anyContext, { maxLength: 40 }),
      fc.constantFrom(3 as const, 4 as const),
      fc.constantFrom(HOT_COLD_FIELDS, MIB_FIELDS, MIB_FIELDS.toReversed()),
      (contexts, version, schema) => {
        const options = { version, container: 13, schema, order: "stored" } as const;
        const file = joinPieces(writeMerged(mergerOf(contexts), options).chunks);
        const { cursor, memprofVersion } = openSection(file);
        // The summary in a file of version 4 distinguishes stacks that the text's own summary merges.
        const shown = (pieces: Iterable<string>) =>
          [...pieces].join("").replace(version === 4 ? /^#.*\n/gm : "", "");
        expect(shown(sectionText(readLinear(cursor, memprofVersion)))).toBe(
          shown(indexedProfileText(readIndexed(file).profile)),
        );
      },
    ),
    { numRuns: 200 },
  );
});

describe("contexts that differ in what was inlined alone", () => {
  const frame = { guid: 3n, lineOffset: 1, column: 2 };
  const contexts = [true, false].map((inline, index) => ({
    frames: [
      { ...frame, guid: 7n, inline: false },
      { ...frame, inline },
    ],
    count: 1 + index,
    lifetime: 5n,
  }));
  const written = (version: 2 | 3 | 4) => {
    const options = { version, container: 13, schema: HOT_COLD_FIELDS, order: "stored" } as const;
    return joinPieces(writeMerged(mergerOf(contexts), options).chunks);
  };
  const section = (version: 3 | 4) => {
    const { cursor } = openSection(written(version));
    return [...sectionText(readLinear(cursor, version))].join("");
  };

  it("are one in the summary of a file that has none, as LLVM shows it", () => {
    expect(section(3)).toContain("# MemProfSummary:\n#   Total contexts: 1\n");
    const text = [...indexedProfileText(readIndexed(written(2)).profile)].join("");
    expect(text).toContain("# MemProfSummary:\n#   Total contexts: 1\n");
  });

  it("are two where the file says so", () => {
    expect(section(4)).toContain("# MemProfSummary:\n#   Total contexts: 2\n");
  });
});
