import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  ArithmeticReader,
  ArithmeticWriter,
  EndOfBits,
} from "../../../../src/formats/memshade-profile/compact/arithmetic.ts";
import { BitModel } from "../../../../src/formats/memshade-profile/compact/bit-model.ts";
import { STRETCH, squash } from "../../../../src/formats/memshade-profile/compact/logistic.ts";
import {
  SymbolCoder,
  TooManySymbols,
} from "../../../../src/formats/memshade-profile/compact/symbol-coder.ts";
import { SETS, TEXT, TextHistory } from "../../../../src/formats/memshade-profile/compact/text-coder.ts";

const LIMIT = 1 << 20;
const newCoder = (bits: ArithmeticWriter | ArithmeticReader, most = LIMIT) =>
  new SymbolCoder(new BitModel(SETS), bits, most);

describe("the logistic form of a probability", () => {
  it("grows with it, and comes back as near as steps allow", () => {
    for (let x = -2047; x < 2047; x++) expect(squash(x + 1)).toBeGreaterThanOrEqual(squash(x));
    expect([squash(-5000), squash(0), squash(5000)]).toEqual([1, 2048, 4095]);
    for (let probability = 1; probability < 4096; probability++) {
      const x = STRETCH[probability]!;
      expect(squash(x)).toBeGreaterThanOrEqual(probability);
      if (x > -2047) expect(squash(x - 1)).toBeLessThan(probability);
    }
  });
});

describe("arithmetic coding", () => {
  const bits = fc.array(fc.record({ bit: fc.nat(1), probability: fc.integer({ min: 1, max: 4095 }) }));

  it("gives back all bits, whatever they were thought to be", () => {
    fc.assert(
      fc.property(bits, (content) => {
        const writer = new ArithmeticWriter();
        for (const { bit, probability } of content) writer.code(bit, probability);
        const reader = new ArithmeticReader(writer.finish());
        expect(content.map(({ probability }) => reader.code(0, probability))).toEqual(
          content.map(({ bit }) => bit),
        );
      }),
    );
  });

  it("takes hardly any bytes for what was expected", () => {
    const writer = new ArithmeticWriter();
    for (let at = 0; at < 8000; at++) writer.code(1, 4095);
    expect(writer.finish().length).toBeLessThan(4);
  });
});

describe("symbols", () => {
  const symbol = fc.oneof(
    fc.record({ column: fc.nat(50), value: fc.bigInt(0n, 2n ** 64n - 1n) }),
    fc.record({ column: fc.nat(50), value: fc.constantFrom(0n, 1n, 2n ** 32n, 2n ** 53n, 2n ** 64n - 1n) }),
  );
  const text = fc.record({
    kind: fc.constantFrom(...Object.values(TEXT)),
    text: fc.string({ unit: "grapheme", maxLength: 30 }).filter((value) => !value.includes("\0")),
  });

  it("come back as they were written, numbers of 64 bits and texts", () => {
    fc.assert(
      fc.property(fc.array(symbol), fc.array(text), (numbers, texts) => {
        const code = (coder: SymbolCoder, isWriter: boolean) => {
          const history = new TextHistory();
          const words = texts.map((each) => history.text(coder, each.kind, isWriter ? each.text : ""));
          const values = numbers.map(({ column, value }, at) =>
            coder.wide(column, at & 3, words.length, isWriter ? value : 0n),
          );
          return { words, values };
        };
        const writer = new ArithmeticWriter();
        const written = code(newCoder(writer), true);
        const read = code(newCoder(new ArithmeticReader(writer.finish())), false);
        expect(read).toEqual(written);
        expect(read).toEqual({
          words: texts.map((each) => each.text),
          values: numbers.map(({ value }) => value),
        });
      }),
      { numRuns: 40 },
    );
  });

  it("take little where they follow what stood in the same context", () => {
    const writer = new ArithmeticWriter();
    const coder = newCoder(writer);
    for (let at = 0; at < 1000; at++) coder.number(3, at % 4, 7, 1000 * (at % 4));
    expect(writer.finish().length).toBeLessThan(60);
  });

  it("end where too many are asked for", () => {
    const coder = newCoder(new ArithmeticWriter(), 5);
    expect(() => new TextHistory().text(coder, TEXT.name, "longer than that")).toThrow(TooManySymbols);
  });

  it("end where there are no more bits", () => {
    const coder = newCoder(new ArithmeticReader(new Uint8Array(3)));
    const readAll = () => {
      for (let at = 0; at < 100; at++) coder.direct(8, 0);
    };
    expect(readAll).toThrow(EndOfBits);
  });
});
