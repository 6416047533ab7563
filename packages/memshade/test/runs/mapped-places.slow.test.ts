import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { Location, Mapping, Profile, Sample, StringTable, ValueType } from "pprof-format";
import { expect, it } from "vitest";
import { loadHeap } from "../../src/runs/heap.ts";
import { newFolder } from "../cli/support/command-line.ts";

const PROGRAM = `#include <execinfo.h>
#include <stdio.h>
static void __attribute__((noinline)) take(void) {
  void *at[16];
  int n = backtrace(at, 16);
  printf("heap_v2/1\\n  t*: 2: 300 [3: 400]\\n@");
  for (int i = 0; i < n; i++) printf(" %p", at[i]);
  printf("\\n  t*: 2: 300 [3: 400]\\n\\nMAPPED_LIBRARIES:\\n");
  FILE *maps = fopen("/proc/self/maps", "r");
  for (int c; (c = fgetc(maps)) != EOF;) putchar(c);
}
static void __attribute__((noinline)) load(void) { take(); puts(""); }
int main(void) { load(); return 0; }
`;

it("addresses in profiles of other tools have names where the binary is named, whatever its bias", async () => {
  const folder = newFolder();
  const [source, program, binaries] = ["t.c", "t", "bin"].map((name) => path.join(folder, name));
  fs.writeFileSync(source!, PROGRAM);
  execFileSync("gcc", ["-g", "-O1", "-Wl,--build-id", source!, "-o", program!]);
  const text = execFileSync(program!, { encoding: "utf8" });
  fs.mkdirSync(binaries!);
  fs.renameSync(program!, path.join(binaries!, "t"));
  fs.writeFileSync(path.join(folder, "t.heap"), text);

  const stack = /^@ (.*)$/m.exec(text)![1]!.split(" ").map(BigInt);
  const [, start, end, offset] = /^(\w+)-(\w+) r-xp (\w+) .*\/t$/m.exec(text)!;
  const notes = execFileSync("readelf", ["-n", path.join(binaries!, "t")], { encoding: "utf8" });
  const table = new StringTable();
  const type = (name: string, unit: string) =>
    new ValueType({ type: table.dedup(name), unit: table.dedup(unit) });
  const profile = new Profile({
    sampleType: [type("inuse_space", "bytes")],
    sample: [new Sample({ locationId: [1, 2, 3], value: [300] })],
    location: stack
      .slice(0, 3)
      .map((address, index) => new Location({ id: index + 1, mappingId: 1, address: address - 1n })),
    mapping: [
      new Mapping({
        id: 1,
        memoryStart: BigInt(`0x${start}`),
        memoryLimit: BigInt(`0x${end}`),
        fileOffset: BigInt(`0x${offset}`),
        filename: table.dedup(program!),
        buildId: table.dedup(/Build ID: (\w+)/.exec(notes)![1]!),
      }),
    ],
    stringTable: table,
  });
  fs.writeFileSync(path.join(folder, "t.pb"), profile.encode());

  for (const file of ["t.heap", "t.pb"]) {
    const named = (await loadHeap(path.join(folder, file), { binaryPaths: [binaries!] })).profile;
    expect(named.strings, file).toEqual(expect.arrayContaining(["take", "load", "main", source]));
    const nameless = (await loadHeap(path.join(folder, file))).profile;
    expect(nameless.strings).not.toContain("take");
    expect(nameless.description.notTracked.join("\n")).toMatch(/have no names: .*--binary-path/);
  }
});
