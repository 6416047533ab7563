import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { repositoryPaths } from "../../../src/runs/check/check-run.ts";
import { newFolder } from "../../cli/support/command-line.ts";

const root = fs.realpathSync(newFolder());
for (const folder of [".git", "src/deep", "pkg"]) fs.mkdirSync(path.join(root, folder), { recursive: true });
for (const file of ["src/a.c", "src/deep/b.c", "pkg/local.c"]) fs.writeFileSync(path.join(root, file), "");
const locate = repositoryPaths(
  path.join(root, "pkg"),
  [{ from: "/mapped", to: path.join(root, "src") }],
  [path.join(root, "src/deep")],
);

describe("recorded paths in a repository", () => {
  it.each([
    ["in it", path.join(root, "src/a.c"), "src/a.c"],
    ["as addresses", pathToFileURL(path.join(root, "src/a.c")).href, "src/a.c"],
    ["relative to where we are", "./local.c", "pkg/local.c"],
    ["relative to the module", "b.c", "src/deep/b.c"],
    ["built elsewhere", "/build/app/src/deep/b.c", "src/deep/b.c"],
    ["mapped", "/mapped/a.c", "src/a.c"],
    ["that are not there", "/usr/include/./x.h", "/usr/include/x.h"],
    ["of one name alone", "/elsewhere/a.c", "/elsewhere/a.c"],
  ])("%s", (_, recorded, called) => {
    expect(locate(recorded)).toBe(called);
  });
});
