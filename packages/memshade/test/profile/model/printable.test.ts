import { describe, expect, it } from "vitest";
import {
  csvCell,
  inLine,
  printable,
  printableHtml,
  printableOutput,
} from "../../../src/profile/model/printable.ts";
import { createPaint } from "../../../src/show/report/terminal/common/paint.ts";

const code = (...points: number[]): string => String.fromCodePoint(...points);
const [ESCAPE, BELL, CSI, DELETE] = [code(0x1b), code(7), code(0x9b), code(0x7f)];
/** Arabic letter mark, left-to-right mark, right-to-left override, isolate, end of isolate. */
const TURNING = [0x61c, 0x200e, 0x202e, 0x2066, 0x2069].map((point) => code(point));

describe("a text of others", () => {
  it("has no characters that terminals obey", () => {
    expect(printable(`${ESCAPE}]0;title${BELL}${CSI}31m${DELETE}\r\n\t.`)).toBe("�]0;title��31m����.");
  });

  it("has nothing that turns the direction of writing", () => {
    expect(printable(TURNING.join("x"))).toBe("�x�x�x�x�");
  });

  it("keeps letters of all scripts", () => {
    for (const name of ["größe", "שלום", "名前<int>", "👩‍🔬"]) expect(printable(name)).toBe(name);
  });
});

describe("an output", () => {
  it("keeps its lines, tabs and the styles of reports", () => {
    const styles = Object.values(createPaint(true));
    const text = `${styles.map((style) => style("NAME")).join("\t")}\n`;
    expect(text).toContain(ESCAPE);
    expect(printableOutput(text)).toBe(text);
  });

  it("has the colours of others written out: what is hidden, blinks or has another background", () => {
    for (const code of ["8", "5", "41", "0", "1;30", "38;5;0", ""])
      expect(printableOutput(`${ESCAPE}[${code}mx`)).toBe(`\\u001b[${code}mx`);
  });

  it("has everything else written out", () => {
    expect(printableOutput(`${ESCAPE}]0;x${BELL}\r${ESCAPE}[2K${CSI}31m\n`)).toBe(
      "\\u001b]0;x\\u0007\\u000d\\u001b[2K\\u009b31m\n",
    );
    expect(printableOutput(`${code(0)}[1m`)).toBe("\\u0000[1m");
    for (const turn of TURNING) expect(printableOutput(turn)).toMatch(/^\\u[0-9a-f]{4}$/);
  });

  it("of JSON says the same as before", () => {
    const value = { name: `${ESCAPE}[0m${CSI}31m${TURNING.join("")}\n` };
    const json = printableOutput(JSON.stringify(value));
    expect(json).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
    expect(JSON.parse(json)).toEqual(value);
  });
});

it("a name in a line that programs read has no end of it", () => {
  expect(inLine("first\n::error file=x::\n")).toBe("first\\n::error file=x::\\n");
  expect(inLine("operator<")).toBe("operator<");
});

describe("a text in HTML", () => {
  it("is neither markup nor obeyed, and keeps its lines", () => {
    expect(printableHtml(`<b title="x">&\n\t${ESCAPE}${TURNING[2]}`)).toBe(
      "&#60;b title=&#34;x&#34;&#62;&#38;\n\t\ufffd\ufffd",
    );
  });
});

it("a cell of a CSV table has no control characters, and is no formula", () => {
  expect(csvCell("_start < a\0b\u001b[2J\n")).toBe("_start < a\ufffdb\ufffd[2J\ufffd");
  expect(csvCell("=HYPERLINK(1)")).toBe("'=HYPERLINK(1)");
  expect(csvCell('say "a, b"')).toBe('"say ""a, b"""');
  expect(csvCell("main")).toBe("main");
});
