import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { UserError } from "../../../src/ground/bytes/errors.ts";
import { readDeadstores } from "../../../src/profile/formats/deadstores.ts";
import { fileOfTool } from "./deadstores-file.ts";

const STORE = { bytes_written: 8, bytes_read: 4, nof_stores: 2, nof_silent: 1 };

function isJson(content: string): boolean {
  try {
    JSON.parse(content);
    return true;
  } catch {
    return false;
  }
}

describe("a file of deadstores", () => {
  it("is read whatever else its records have", () => {
    const file = {
      command: "./app",
      stores: [
        { ips: [{ address: 4096, function: "main", file: "/src/a.c", line: 3 }], ...STORE, killer: "x" },
      ],
      loads: [{ ips: [{ address: 4100 }], nof_loads: 5, nof_silent: 2 }],
      tool: "more",
    };
    expect(readDeadstores(JSON.stringify(file))).toMatchObject(file);
  });

  it("is read with names that are not escaped however its lines are broken", () => {
    const name = 'operator"" _km(long double)';
    const ip = { address: 4096, function: name, file: 'C:\\src\\a "b".c', line: 3 };
    const raw = (indent: number) =>
      JSON.stringify(
        { command: "COMMAND", stores: [{ ips: [ip, { address: 5, function: "f" }], ...STORE }], loads: [] },
        null,
        indent,
      )
        .replace("COMMAND", './app "x y" \\ \n z')
        .replaceAll("\\\\", "\\")
        .replaceAll('\\"', '"');
    for (const indent of [0, 1, 4]) {
      expect(isJson(raw(indent))).toBe(false);
      const file = readDeadstores(raw(indent));
      expect(file.command).toBe('./app "x y" \\ \n z');
      expect(file.stores[0]?.ips).toEqual([ip, { address: 5, function: "f" }]);
    }
  });

  it("keeps all bits of an address", () => {
    const content = fileOfTool("./app", [{ ips: [{ address: 0xffffffffff600000n }], ...STORE }]);
    expect(readDeadstores(content).stores[0]!.ips[0]!.address).toBe(0xffffffffff600000n);
  });

  it("is read although the tool does not escape what names contain", () => {
    const names = fc.string({ unit: fc.constantFrom('"', "\\", "a", " ", ",", "_", "<", "é", "\t") });
    fc.assert(
      fc.property(
        names,
        names,
        fc.array(fc.constantFrom('"', "\n", "x", " "), { minLength: 1 }),
        (name, file, words) => {
          const command = `./app ${words.join("")}`;
          const ip = { address: 4096, function: name, file: `/src/${file}`, line: 12 };
          const content = fileOfTool(command, [
            { ips: [ip], ...STORE },
            { ips: [ip, ip], ...STORE },
          ]);
          // Content that is valid JSON is read as JSON: `\\"` is a quote then.
          fc.pre(!isJson(content));
          const read = readDeadstores(content);
          expect(read.command).toBe(command);
          expect(read.stores.map(({ ips }) => ips)).toEqual([[ip], [ip, ip]]);
        },
      ),
    );
  });

  it.each([
    ["", "the file is empty"],
    ["\u0000\u001b[31m", "not JSON"],
    ["{}", "the file.command should be text, but it is missing"],
    [
      '{"command":"a","stores":[{"ips":[]}],"loads":[]}',
      "the file.stores[0].ips should have at least one address",
    ],
    ['{"command":"a","stores":[],"loads":[{"ips":[{"address":-1}]}]}', "should be an address, not -1"],
  ])("that is %j is refused in one line", (content, message) => {
    expect(() => readDeadstores(content)).toThrow(UserError);
    expect(() => readDeadstores(content)).toThrow(message);
  });
});
