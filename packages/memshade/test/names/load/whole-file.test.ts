import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { UserError } from "../../../src/ground/bytes/errors.ts";
import { WholeFile, writeWholeFile } from "../../../src/names/load/whole-file.ts";
import { descriptorsOf } from "../../support/open-files.ts";

let home = "";

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "memshade-whole-file-"));
});
afterEach(() => rmSync(home, { recursive: true }));

describe("a file that is written whole", () => {
  it("is not there under its name before, and alone there afterwards", () => {
    const path = join(home, "out.wasm");
    writeWholeFile(path, (file) => {
      file.write("new");
      file.write(new Uint8Array([0x21]), 3);
      expect(existsSync(path)).toBe(false);
    });
    expect(readFileSync(path, "utf8")).toBe("new!");
    expect(readdirSync(home)).toEqual(["out.wasm"]);
  });

  it("leaves what was there, and nothing else, where writing fails", () => {
    const path = join(home, "out");
    writeFileSync(path, "old");
    const fail = () => {
      throw new UserError("the input ended");
    };
    expect(() => writeWholeFile(path, fail)).toThrow("the input ended");
    expect(readFileSync(path, "utf8")).toBe("old");
    expect(readdirSync(home)).toEqual(["out"]);
  });

  it("leaves nothing where it cannot get its name at the end", () => {
    const file = new WholeFile(join(home, "taken"));
    file.write("content");
    mkdirSync(join(home, "taken/inside"), { recursive: true });
    expect(() => file.finish()).toThrow(/^cannot write .*taken/);
    file.abandon();
    expect(readdirSync(home)).toEqual(["taken"]);
  });

  it.runIf(process.platform === "linux")("closes its file once, also where closing fails", () => {
    const file = new WholeFile(join(home, "out"));
    const partial = join(home, `.out.${process.pid}.partial`);
    const [descriptor] = descriptorsOf(partial) as [number];
    closeSync(descriptor);
    expect(() => file.finish()).toThrow(/^cannot write .*out: /);
    const other = openSync("/dev/null", "r");
    expect(other).toBe(descriptor);
    file.abandon();
    expect(descriptorsOf("/dev/null")).toContain(other);
    closeSync(other);
    expect(readdirSync(home)).toEqual([]);
  });

  it("is written where a link leads", () => {
    writeFileSync(join(home, "target"), "old");
    symlinkSync("target", join(home, "link"));
    writeWholeFile(join(home, "link"), (file) => file.write("new"));
    expect(lstatSync(join(home, "link")).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(home, "target"), "utf8")).toBe("new");
  });

  it.runIf(process.platform === "linux")("may be a device, which stays one and says that it is full", () => {
    writeWholeFile("/dev/null", (file) => file.write("nothing"));
    expect(lstatSync("/dev/null").isCharacterDevice()).toBe(true);
    expect(() => writeWholeFile("/dev/full", (file) => file.write("too much"))).toThrow(
      new UserError("cannot write /dev/full: no space left"),
    );
    expect(lstatSync("/dev/full").isCharacterDevice()).toBe(true);
  });

  it("cannot be a folder, or lie where there is none", () => {
    expect(() => writeWholeFile(home, () => {})).toThrow(
      new UserError(`cannot write ${home}: it is a folder`),
    );
    const nowhere = join(home, "nowhere", "out");
    expect(() => writeWholeFile(nowhere, () => {})).toThrow(
      new UserError(`cannot write ${nowhere}: no such file or folder`),
    );
  });
});
