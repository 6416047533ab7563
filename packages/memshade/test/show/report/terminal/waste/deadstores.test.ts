import { describe, expect, it } from "vitest";
import type { LoadRecord, StoreRecord } from "../../../../../src/profile/formats/deadstores.ts";
import { printDeadstores } from "../../../../../src/show/report/terminal/waste.ts";

const store = (address: number, written: number, read: number, silent: number): StoreRecord => ({
  ips: [{ address }],
  bytes_written: written,
  bytes_read: read,
  nof_stores: written / 4,
  nof_silent: silent,
});

function entries(text: string, title: string): string[] {
  const [, section = ""] = text.split(`${title}\n${"-".repeat(title.length)}\n`);
  return section
    .split("\n\n\n", 1)[0]!
    .split("\n")
    .filter((line) => /^0x/.test(line));
}

describe("the printer of deadstores", () => {
  it("prints each record with its counters and its stack", () => {
    const dead: StoreRecord = {
      ips: [
        { address: 0x401234, function: "fill", file: "/src/app.c", line: 12 },
        { address: 0xffffffffff600000n },
      ],
      bytes_written: 4096,
      bytes_read: 96,
      nof_stores: 512,
      nof_silent: 3,
    };
    const load: LoadRecord = {
      ips: [{ address: 64, function: "find" }],
      nof_loads: 123456789,
      nof_silent: 7,
    };
    expect(
      printDeadstores({ command: "./app 1 2", stores: [dead], loads: [load] }, 5),
    ).toMatchInlineSnapshot(`
      "Command: ./app 1 2

      Dead stores
      -----------
      0x00401234:
        bytes_written:     4096
        bytes_read:          96
        bytes_dead:        4000
        nof_stores:         512
        nof_silent:           3
          at 0x00401234: fill (in /src/app.c:12)
          by 0xffffffffff600000: ???


      Silent stores
      -------------
      0x00401234:
        bytes_written:     4096
        bytes_read:          96
        bytes_dead:        4000
        nof_stores:         512
        nof_silent:           3
          at 0x00401234: fill (in /src/app.c:12)
          by 0xffffffffff600000: ???


      Silent loads
      ------------
      0x00000040:
        nof_loads:     123456789
        nof_silent:           7
          at 0x00000040: find
      "
    `);
  });

  it("ranks by dead bytes and by silence, leaves out zeros and cuts at the asked number first", () => {
    const stores = [store(1, 8, 8, 1), store(2, 8, 0, 0), store(3, 80, 8, 1), store(4, 8, 4, 2)];
    const text = printDeadstores({ command: "", stores, loads: [] }, 3);
    expect(entries(text, "Dead stores")).toEqual(["0x00000003:", "0x00000002:", "0x00000004:"]);
    expect(entries(text, "Silent stores")).toEqual(["0x00000004:", "0x00000003:", "0x00000001:"]);
    expect(entries(printDeadstores({ command: "", stores, loads: [] }, 0), "Dead stores")).toEqual([]);
  });
});
