import { mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LaterFiles } from "../../../../src/record/native/rewritten/later-files.ts";

describe("files that a program meets later", () => {
  let folder: string;
  let plugin: string;
  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "memshade-later-")));
    plugin = join(folder, "plugin.so");
    writeFileSync(plugin, "");
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const of = (program: string): LaterFiles => new LaterFiles(program, folder);

  it("are those of its next run, and of no other program's", () => {
    const first = of("/bin/program");
    expect(first.files).toEqual([]);
    symlinkSync(plugin, join(folder, "link.so"));
    first.addMapped(join(folder, "link.so"));
    first.addMapped(plugin);
    expect(first.found).toEqual([plugin]);
    expect(first.remember()).toBe(true);
    expect(of("/bin/program").files).toEqual([plugin]);
    expect(of("/bin/other").files).toEqual([]);
    rmSync(plugin);
    expect(of("/bin/program").files).toEqual([]);
  });

  it("are none that it begins with, and nothing that is no file", () => {
    const later = of("/bin/program");
    later.exclude(plugin);
    for (const path of [plugin, folder, join(folder, "gone.so (deleted)"), "/dev/null", "linux-vdso.so.1"])
      later.addMapped(path);
    expect(later.found).toEqual([]);
  });

  it("are not remembered where they were written during the run: the next one may write them, too", async () => {
    const later = of("/bin/maker");
    await setTimeout(20);
    const made = join(folder, "made");
    writeFileSync(made, "");
    for (const path of [made, plugin]) later.addMapped(path);
    expect([later.found, later.made]).toEqual([[plugin], [made]]);
    later.remember();
    expect(of("/bin/maker").files).toEqual([plugin]);
  });

  it("are forgotten where the list of them is damaged, or cannot be kept", () => {
    const later = new LaterFiles("/bin/program", plugin);
    later.addMapped("/bin/sh");
    expect(later.remember()).toBe(false);
  });
});
