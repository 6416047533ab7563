import { spawnSync } from "node:child_process";
import { closeSync, existsSync, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { openObject } from "../../../src/code/objects/index.ts";
import type { ByteSource } from "../../../src/ground/bytes/byte-source.ts";
import { sharedPath } from "../../shared-path.ts";

const installed = spawnSync("readelf", ["--version"]).status === 0;
if (!installed) console.warn("SKIPPED: readelf is not installed, objects are not compared with what it says");

/** Executables of other machines with all symbols, if the fixtures are there. */
const fixtures = ["aarch64-frames", "recursion"].map(
  (name) => sharedPath(`fixtures/unwind/${name}/prog`) ?? "",
);

const files = [
  ...fixtures,
  process.execPath,
  "/bin/sh",
  "/usr/bin/readelf",
  "/lib/x86_64-linux-gnu/libc.so.6",
  "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
].filter((file) => existsSync(file) && readFileSync(file).subarray(0, 4).toString("latin1") === "\x7fELF");

function readelf(...options: string[]): string {
  return spawnSync("readelf", ["-W", ...options], { encoding: "utf8", maxBuffer: 1 << 30 }).stdout;
}

describe.skipIf(!installed).each(files)("readelf and %s", (file) => {
  const object = openObject(readFileSync(file));

  it("agree on the sections", () => {
    const line = /^ +\[ *(\d+)\] (\S*) +[A-Z_]+ +([0-9a-f]+) ([0-9a-f]+) ([0-9a-f]+) /gm;
    const expected = [...readelf("-S", file).matchAll(line)].map(([, index, name, ...numbers]) => [
      Number(index),
      name,
      ...numbers.map((digits) => Number.parseInt(digits, 16)),
    ]);
    const ours = object.sections.map(({ name, address, offset, size }, index) => [
      index,
      name,
      address,
      offset,
      size,
    ]);
    expect(expected.length).toBeGreaterThan(10);
    expect(ours.slice(1)).toEqual(expected.filter(([index]) => index !== 0));
  });

  it("agree on what is loaded", () => {
    const line = /^ +LOAD +0x([0-9a-f]+) 0x([0-9a-f]+) 0x[0-9a-f]+ 0x([0-9a-f]+) 0x([0-9a-f]+) /gm;
    const expected = [...readelf("-l", file).matchAll(line)].map(([, ...numbers]) =>
      numbers.map((digits) => Number.parseInt(digits, 16)),
    );
    expect(expected.length).toBeGreaterThan(0);
    expect(
      object.segments.map(({ fileOffset, address, fileSize, memorySize }) => [
        fileOffset,
        address,
        fileSize,
        memorySize,
      ]),
    ).toEqual(expected);
  });

  it("agree on the build id and the link to debug information", () => {
    expect(object.buildId).toBe(/Build ID: ([0-9a-f]+)/.exec(readelf("-n", file))?.[1]);
    if (object.debugLink === undefined) return;
    expect(readelf("-p", ".gnu_debuglink", file)).toContain(object.debugLink.name);
  });

  // readelf prints too much for the largest file.
  it.skipIf(file === process.execPath)("agree on the functions", () => {
    const text = readelf("-s", file);
    const tables = text.split(/^Symbol table '(.*)' contains/m);
    const wanted = tables.indexOf(".symtab") < 0 ? ".dynsym" : ".symtab";
    const line = /^ *\d+: ([0-9a-f]+) +(\d+|0x[0-9a-f]+) (?:FUNC|IFUNC) +(\w+) +\w+ +\d+ (\S+)/gm;
    const expected = [...tables[tables.indexOf(wanted) + 1].matchAll(line)].map(
      ([, address, size, binding, name]) =>
        `${Number.parseInt(address, 16)} ${Number(size)} ${binding} ${name.replace(/@.*/, "")}`,
    );
    const ours = [...object.symbols()]
      .filter(({ kind }) => kind === "function")
      .map(
        ({ address, size, binding, name }) =>
          `${address} ${size} ${binding.toUpperCase()} ${name.replace(/@.*/, "")}`,
      );
    // Lists this long are compared by set difference, so that a failure stays readable.
    const onlyIn = (these: string[], those: Set<string>) =>
      these.filter((one) => !those.has(one)).slice(0, 5);
    expect(onlyIn(ours, new Set(expected))).toEqual([]);
    expect(onlyIn(expected, new Set(ours))).toEqual([]);
    expect(ours.length).toBe(expected.length);
  });
});

describe("an object in an open file", () => {
  it("has the content of one in memory, and is read in pieces", () => {
    const descriptor = openSync(process.execPath, "r");
    let bytesRead = 0;
    const source: ByteSource = {
      size: fstatSync(descriptor).size,
      read: (offset, length) => {
        bytesRead += length;
        const piece = new Uint8Array(length);
        return piece.subarray(0, readSync(descriptor, piece, 0, length, offset));
      },
    };
    const object = openObject(source);
    const whole = openObject(readFileSync(process.execPath));
    expect(object.sections).toEqual(whole.sections);
    expect(object.buildId).toBe(whole.buildId);
    expect(Buffer.compare(object.section(".eh_frame")!, whole.section(".eh_frame")!)).toBe(0);
    expect(bytesRead).toBeLessThan(source.size / 4);
    closeSync(descriptor);
  });
});
