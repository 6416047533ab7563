import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { UserError } from "../../src/bytes/errors.ts";
import { writeWholeFile } from "../../src/load/whole-file.ts";

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
