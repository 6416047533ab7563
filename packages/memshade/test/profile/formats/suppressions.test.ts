import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { UserError } from "../../../src/ground/bytes/errors.ts";
import { readSuppressions } from "../../../src/profile/formats/suppressions.ts";

const read = (text: string) => readSuppressions(text, "app.supp");

describe("leak suppressions", () => {
  it("are blocks of memcheck's, with the frames from the allocation function outwards", () => {
    const [known, ...others] = read(`
# the configuration is read once,
# at the start
{
   configuration
   Memcheck:Leak
   match-leak-kinds: definite, indirect
   fun:malloc
   fun:read*
   src:config.c:12
   src:src/main.c
   obj:*/app.wasm
   ...
   fun:main
}
`);
    expect(others).toEqual([]);
    expect(known).toEqual({
      name: "configuration",
      reason: "the configuration is read once, at the start",
      place: "app.supp:4",
      kinds: new Set(["definite", "indirect"]),
      path: [
        { kind: "function", glob: "malloc" },
        { kind: "function", glob: "read*" },
        { kind: "source", glob: "config.c", line: 12 },
        { kind: "source", glob: "src/main.c" },
        { kind: "object", glob: "*/app.wasm" },
        { kind: "any" },
        { kind: "function", glob: "main" },
      ],
    });
  });

  it("are lines of LeakSanitizer's, of all kinds", () => {
    expect(read("# theirs\nleak:libpng\r\n\nleak:^init$\n")).toMatchObject([
      { name: "leak:libpng", reason: "theirs", place: "app.supp:2", path: "libpng" },
      { name: "leak:^init$", reason: undefined, place: "app.supp:4", path: "^init$" },
    ]);
    expect(read("leak:a")[0]!.kinds.size).toBe(4);
  });

  it("are not those for other errors", () => {
    expect(
      read("{\n x\n Memcheck:Cond\n fun:f\n}\nrace:f\n{\n y\n drd:ConflictingAccess\n fun:g\n}\n"),
    ).toEqual([]);
  });

  it.each([
    ["leek", /^app\.supp:1: neither "\{" nor leak:PATTERN: "leek"$/],
    ["\nleak:", /^app\.supp:2: nothing behind leak:$/],
    ["{\n x\n Memcheck:Leak\n foo:bar\n}", /^app\.supp:4: none of fun:, obj:, src: and "\.\.\.": "foo:bar"$/],
    ["{\n x\n Memcheck:Leak\n fun:f\n", /^app\.supp:1: "\{" without "\}"$/],
    ["{\n x\n}", /^app\.supp:1: a suppression has a name, a kind/],
    ["{\n x\n Leak\n fun:f\n}", /^app\.supp:3: no kind such as Memcheck:Leak: "Leak"$/],
    [
      "{\n x\n Memcheck:Leak\n match-leak-kinds: some\n fun:f\n}",
      /^app\.supp:4: "some" is none of definite,/,
    ],
    ["{\n x\n Memcheck:Leak\n match-leak-kinds: all\n}", /^app\.supp:3: no frames behind it$/],
  ])("say where %j is in neither syntax", (text, message) => {
    expect(() => read(text)).toThrow(UserError);
    expect(() => read(text)).toThrow(message);
  });

  it("are read from any text, or refused in one line", () => {
    const line = fc.constantFrom(
      "{",
      "}",
      "x",
      "# why",
      "Memcheck:Leak",
      "fun:f",
      "...",
      "leak:a",
      "src:a:1",
      "",
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(line, fc.string()), { maxLength: 12 }), (lines) => {
        try {
          for (const { place } of read(lines.join("\n"))) expect(place).toMatch(/^app\.supp:\d+$/);
        } catch (error) {
          expect(error).toBeInstanceOf(UserError);
          expect((error as Error).message).toMatch(/^app\.supp:\d+: [^\n]+$/);
        }
      }),
    );
  });
});
