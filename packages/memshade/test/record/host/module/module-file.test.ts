import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FormatError, UserError } from "../../../../src/ground/bytes/errors.ts";
import { describePreambleProblem, nameFileInErrors } from "../../../../src/record/host/module/module-file.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

describe("the first bytes of a file", () => {
  it("are fine for a core module", () => {
    expect(describePreambleProblem(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0))).toBeUndefined();
  });

  it.each(["(module)", "  (module $m", ";; by hand\n(module", "(; a ;) (; b ;)\n(component"])(
    "tell the text form by %j",
    (text) => {
      expect(describePreambleProblem(bytes(text))).toContain("wat2wasm");
    },
  );

  it("are judged in one line, whatever they are", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (random) => {
        expect(describePreambleProblem(random)).toMatch(/^[^\n]+$/);
      }),
    );
  });
});

it("errors about bytes become one line with the file's name; others stay what they are", () => {
  const fail = (error: Error) => () =>
    nameFileInErrors("a.wasm", () => {
      throw error;
    });
  expect(fail(new FormatError("truncated", 16, "code section"))).toThrow(UserError);
  expect(fail(new FormatError("truncated", 16, "code section"))).toThrow(
    "a.wasm: code section at offset 0x10: truncated",
  );
  expect(fail(new RangeError("other"))).toThrow(RangeError);
});
