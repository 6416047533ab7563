import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { pageAddress } from "../../../../src/record/host/browser/run-browser.ts";
import { memshade, newFolder } from "../../../cli/support/command-line.ts";
import { CHROMIUM, isInstalled } from "./support/browse.ts";

async function refused(args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const { code, stderr } = await memshade(["browser", ...args], { cwd: newFolder(), env });
  expect(code, stderr).toBe(2);
  const lines = stderr
    .trim()
    .split("\n")
    .filter((line) => !line.includes("sandbox"));
  expect(lines).toHaveLength(1);
  return lines[0]!;
}

describe("memshade browser refuses in one line", () => {
  it("where there is no browser", async () => {
    expect(await refused(["localhost:1"], { PATH: "", CHROME_PATH: "" })).toMatch(
      /no Chromium or Chrome was found: .*--browser/,
    );
    expect(await refused(["--browser", "/nowhere/chrome", "localhost:1"])).toMatch(
      /--browser \/nowhere\/chrome: no such file/,
    );
  });

  it("what is no browser, and one that is too old", async () => {
    expect(await refused(["--browser", "/bin/true", "localhost:1"])).toMatch(
      /\/bin\/true does not start as a browser/,
    );
    const old = join(newFolder(), "chrome");
    const answer = `{"id":1000000001,"result":{"product":"Chrome/119.0.1.2"}}`;
    writeFileSync(
      old,
      `#!${process.execPath}\nrequire("fs").writeSync(4, ${JSON.stringify(answer)} + "\\0"); setTimeout(() => {}, 5000);`,
    );
    chmodSync(old, 0o755);
    expect(await refused(["--browser", old, "localhost:1"])).toMatch(
      /is version 119: .*need version 120 or later/,
    );
  });

  it("an address that is none, and options that mean nothing in a page", async () => {
    expect(await refused(["nonsense"])).toMatch(/nonsense: neither the address of a page/);
    expect(await refused(["not-there.html"])).toMatch(/not-there.html: .*, nor a file/);
    expect(await refused(["ftp://example.org/"])).toMatch(/neither the address of a page/);
    expect(await refused(["--for", "soon", "localhost:1"])).toMatch(/It must be a time such as 10s/);
    expect(await refused(["--origin", "there", "localhost:1"])).toMatch(/--origin there: not an origin/);
    expect(await refused(["--tool", "workingset", "--interval", "20ms", "localhost:1"])).toMatch(
      /--interval in accesses/,
    );
    expect(await refused(["localhost:1", "localhost:2"])).toMatch(/one page is opened/);
  });

  it.skipIf(!isInstalled)("a page that cannot be opened", async () => {
    expect(await refused(["--headless", "--browser", CHROMIUM, "http://localhost:1/"])).toMatch(
      /http:\/\/localhost:1\/: the page cannot be opened \(net::ERR_/,
    );
  });

  it("and takes hosts without http, and files", () => {
    expect(pageAddress("localhost:5173")).toBe("http://localhost:5173/");
    expect(pageAddress("example.org/app?a=1")).toBe("http://example.org/app?a=1");
    expect(pageAddress("https://example.org")).toBe("https://example.org/");
    expect(pageAddress(process.execPath)).toMatch(/^file:\/\//);
  });
});
