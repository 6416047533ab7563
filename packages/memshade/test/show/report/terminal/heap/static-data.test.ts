import { describe, expect, it } from "vitest";
import { staticsReport } from "../../../../../src/explain/analyses/statics.ts";
import { staticDataJson } from "../../../../../src/show/report/json/static-data.ts";
import { createPaint } from "../../../../../src/show/report/terminal/common/paint.ts";
import { Screen } from "../../../../../src/show/report/terminal/common/screen.ts";
import { printStaticData } from "../../../../../src/show/report/terminal/heap/heap-report.ts";
import { statics, variable } from "../../../../support/statics-picture.ts";

const OPTIONS = { paint: createPaint(false), width: 80, isWide: false };
const REPORT = staticsReport(
  statics({ 1024: [980, -10], 1152: [9], 1280: [-1] }, [
    variable("crc_table", 1024, 64),
    variable("rare", 1152, 4, { line: 13 }),
    variable("rarer", 1156, 4, { line: 14 }),
    variable("log", 1280, 8, { file: undefined, line: 0 }),
    variable("never", 1408, 3712),
  ]),
);

describe("static data in the heap's report", () => {
  it("shows who is accessed, and what nobody reads", () => {
    const screen = new Screen(OPTIONS);
    printStaticData(screen, REPORT, 3);
    expect(screen.text()).toBe(`
Static data                                           1,000 accesses to 4.00 KiB
────────────────────────────────────────────────────────────────────────────────
  ACCESSES       %     BYTES  USE        VARIABLE
       990  99.0 %      64 B  hot        crc_table (crc.c:12)
         9   0.9 %       8 B  cold       rare, rarer share 8 B (crc.c:13)
         1   0.1 %       8 B  unread     log

  Not read: 3.97 KiB never touched, 16 B written, never read (99.6 %)
  NOT READ       %     BYTES  USE        VARIABLE
  3.63 KiB  91.0 %  3.63 KiB  untouched  never (crc.c:12)
     120 B   2.9 %     120 B  untouched  .rodata+0x88
     120 B   2.9 %     120 B  untouched  .rodata+0x108
  … and 3 more variables with 128 B: -n N shows them
`);
  });

  it("is nothing where there is no data", () => {
    const screen = new Screen(OPTIONS);
    printStaticData(screen, staticsReport(statics({}, [], { segments: [], end: 1024 })));
    expect(screen.text()).toBe("\n");
  });

  it("says in JSON where counts are lower bounds", () => {
    const full = staticsReport(statics({ 1024: [2 ** 31 - 1] }, [], { wrapsAt: 2 ** 31 - 1 }));
    expect(staticDataJson(full)).toMatchObject({ accessesAtLeast: true });
  });
});
