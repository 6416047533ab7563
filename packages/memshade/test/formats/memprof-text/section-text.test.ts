import fc from "fast-check";
import { expect, it } from "vitest";
import { joinPieces } from "../../../src/bytes/file-piece.ts";
import {
  openSection,
  readIndexed,
  readLinear,
  writeMerged,
} from "../../../src/formats/memprof-indexed/index.ts";
import { indexedProfileText, sectionText } from "../../../src/formats/memprof-text/index.ts";
import { HOT_COLD_FIELDS } from "../../../src/model/memprof/index.ts";
import { MIB_FIELDS } from "../../../src/model/mib-fields.ts";
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
        expect([...sectionText(readLinear(cursor, memprofVersion))].join("")).toBe(
          [...indexedProfileText(readIndexed(file).profile)].join(""),
        );
      },
    ),
    { numRuns: 200 },
  );
});
