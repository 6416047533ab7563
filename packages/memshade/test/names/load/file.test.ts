import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openFile, readInput, readRegular, readWholeFile } from "../../../src/names/load/file.ts";

let home = "";
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "memshade-file-"));
});
afterEach(() => rmSync(home, { recursive: true }));

function makePipe(name = "pipe"): string {
  const path = join(home, name);
  spawnSync("mkfifo", [path]);
  return path;
}

describe.skipIf(process.platform === "win32")("what is no regular file", () => {
  it("is not waited for, nor what a link to it leads to", () => {
    const pipe = makePipe();
    symlinkSync("pipe", join(home, "link"));
    symlinkSync("link2", join(home, "link2"));
    for (const path of [pipe, join(home, "link"), "/dev/zero", "/dev/tty"]) {
      expect(() => readRegular(path)).toThrow("it is not a regular file");
      expect(() => openFile(path)).toThrow(`${path} cannot be read: it is not a regular file`);
    }
    expect(() => readWholeFile(join(home, "link2"))).toThrow("links lead in a circle");
  });

  it("may be a pipe where the user has named it; without a writer there is nothing in it", () => {
    expect(readInput(makePipe())).toEqual(Buffer.alloc(0));
    expect(() => readInput("/dev/zero")).toThrow("it is a device, and no file");
  });

  it("is read to its end where somebody writes, however slowly", () => {
    const pipe = makePipe();
    const writer = spawn(
      "sh",
      ["-c", `exec >${pipe}; echo open >&2; sleep 0.1; echo one; sleep 0.1; echo two`],
      {
        stdio: ["ignore", "ignore", "ignore"],
      },
    );
    // The writer waits for a reader; until the writer is there, the pipe is empty.
    let text = "";
    while (text === "") text = readInput(pipe).toString();
    expect(text).toBe("one\ntwo\n");
    writer.kill();
  });
});

it("regular files are read whole, those of which the system does not tell a size too", () => {
  writeFileSync(join(home, "file"), "content");
  expect(readInput(join(home, "file")).toString()).toBe("content");
  expect(readRegular(join(home, "file")).toString()).toBe("content");
  if (process.platform === "linux") expect(readRegular("/proc/self/stat").length).toBeGreaterThan(10);
});
