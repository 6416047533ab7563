import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { isSuitable } from "../../src/cli/node-version.ts";
import { findSuitableNode } from "../../src/cli/suitable-node.ts";
import { newFolder } from "./support/command-line.ts";

function installNode(folder: string, version: string, place = "node_modules/.bin/node"): string {
  const node = join(folder, place);
  mkdirSync(dirname(node), { recursive: true });
  writeFileSync(node, `#!/bin/sh\necho v${version}\n`);
  chmodSync(node, 0o755);
  return node;
}

describe("a Node that is too old for modules of several memories", () => {
  it("is told by its version", () => {
    expect(["18.20.0", "20.20.2", "22.14.9"].filter(isSuitable)).toEqual([]);
    expect(["22.15.0", "22.16.1", "23.0.0", "24.21.0"].filter((version) => !isSuitable(version))).toEqual([]);
  });

  it("makes way for the nearest suitable one that packages have installed", () => {
    const project = newFolder();
    const memshade = join(project, "node_modules/memshade/dist");
    mkdirSync(memshade, { recursive: true });
    expect(findSuitableNode(memshade)).toBeUndefined();
    const far = installNode(project, "24.1.0");
    expect(findSuitableNode(memshade)).toBe(far);
    installNode(join(project, "node_modules/memshade"), "20.1.0");
    expect(findSuitableNode(memshade)).toBe(far);
    const near = installNode(join(project, "node_modules/memshade"), "22.15.0", "node_modules/node/bin/node");
    expect(findSuitableNode(memshade)).toBe(near);
  });

  it("does not take a link that leads nowhere, or a program that does not start", () => {
    const project = newFolder();
    mkdirSync(join(project, "node_modules/.bin"), { recursive: true });
    symlinkSync("../gone/bin/node", join(project, "node_modules/.bin/node"));
    mkdirSync(join(project, "node_modules/node/bin"), { recursive: true });
    writeFileSync(join(project, "node_modules/node/bin/node"), "another machine's");
    expect(findSuitableNode(project)).toBeUndefined();
  });
});
