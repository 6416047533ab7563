import fs from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { writePieces } from "../../src/runs/output.ts";
import { writeReportPage } from "../../src/runs/page/run-page.ts";
import { newFolder } from "../cli/support/command-line.ts";
import { heapPicture, writePicture } from "../heap-picture.ts";

const folder = newFolder();
const at = (name: string) => path.join(folder, name);

function runOf(name: string): string {
  const program = at(`${name}.wasm`);
  fs.writeFileSync(program, "a program");
  const picture = heapPicture("main > parse  10 x 100  peak 4");
  const [first, ...others] = picture.run.modules;
  return writePicture(at(name), {
    ...picture,
    run: { ...picture.run, modules: [{ ...first!, path: program }, ...others] },
  });
}

describe("what is made of a run", () => {
  const run = runOf("run");
  fs.symlinkSync(path.join(run, "run.json"), at("link.html"));
  fs.linkSync(path.join(run, "heap.memprofraw"), at("hard-link.html"));

  it.each([
    ["a file of its folder", path.join(run, "run.json")],
    ["its profile", path.join(run, "heap.memprofraw")],
    ["a symbolic link to one", at("link.html")],
    ["a hard link to one", at("hard-link.html")],
    ["the program", at("run.wasm")],
  ])("is never written over %s", async (_, file) => {
    const before = fs.readFileSync(file);
    for (const input of [run, path.join(run, "run.json"), path.join(run, "heap.memprofraw")])
      await expect(writePieces(file, ["new"], [input])).rejects.toThrow(`${file} is the input`);
    await expect(writeReportPage(run, { file })).rejects.toThrow(/is the input: write to another file/);
    expect(fs.readFileSync(file)).toEqual(before);
  });

  it("takes the place of what was made of it before", async () => {
    const file = path.join(run, "report.txt");
    for (const text of ["old", "new"]) await writePieces(file, [text], [run]);
    expect(fs.readFileSync(file, "utf8")).toBe("new");
  });
});
