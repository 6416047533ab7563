import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { newFolder, type Started, startMemshade } from "../../../cli/support/command-line.ts";
import { CHROMIUM, isInstalled, serve } from "./support/browse.ts";

const isLinux = process.platform === "linux";
if (!isLinux) console.warn("SKIPPED: processes are looked for in /proc");

/** Starts a run whose browser keeps all its temporary files below a folder of the test. */
function begin(temporary: string, browser: string, url: string): { started: Started; cwd: string } {
  const cwd = newFolder();
  const args = ["browser", "--headless", "--browser", browser, "--out", "run", url];
  return { cwd, started: startMemshade(args, { cwd, input: "", env: { TMPDIR: temporary } }) };
}

/** Command lines of the processes that have the folder in their environment or arguments; some processes overwrite one of them. */
function processesOf(temporary: string): string[] {
  return readdirSync("/proc").flatMap((id) => {
    try {
      const [line, environment] = ["cmdline", "environ"].map((name) =>
        readFileSync(`/proc/${id}/${name}`, "latin1"),
      );
      return (line + environment).includes(temporary) ? [line] : [];
    } catch {
      // The entry is no process, or the process has ended.
      return [];
    }
  });
}

/** Paths of sockets are limited in length, so the folder's name is short. */
function shortFolder(): string {
  const folder = mkdtempSync("/tmp/memshade-test-");
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

function ownerOf(folder: string): number | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, "owner"), "utf8")).pid;
  } catch {
    // The folder belongs to another user, or does not exist.
    return undefined;
  }
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await wait(50);
}

const SITE = { "/": '<script>fetch("/told", { method: "POST", body: "here" })</script>' };

describe.skipIf(!isInstalled || !isLinux)("memshade browser that is ended", () => {
  it.each([
    ["SIGTERM", "early"],
    ["SIGTERM", "late"],
    ["SIGHUP", "late"],
  ] as const)("by %s that comes %s leaves no process and no file", async (signal, when) => {
    const [temporary, page] = [shortFolder(), await serve(SITE)];
    const { started, cwd } = begin(temporary, CHROMIUM, page.url);
    if (when === "late") await page.next();
    else await until(() => readdirSync(temporary).length > 0);
    started.child.kill(signal);
    expect((await started.ended).signal).toBe(signal);
    expect(readdirSync(temporary)).toEqual([]);
    expect(readdirSync(cwd)).toEqual([]);
    await until(() => processesOf(temporary).length === 0);
  });

  it("by SIGKILL leaves what the next run removes", async () => {
    const temporary = shortFolder();
    const page = await serve(SITE);
    const killed = begin(temporary, CHROMIUM, page.url);
    await page.next();
    killed.started.child.kill("SIGKILL");
    await killed.started.ended;
    await until(() => processesOf(temporary).length === 0);
    expect(readdirSync(temporary)).toEqual([expect.stringMatching(/^memshade-chromium-/)]);
    const next = begin(temporary, CHROMIUM, page.url);
    await page.next();
    next.started.child.kill("SIGINT");
    expect((await next.started.ended).code).toBe(0);
    expect(readdirSync(temporary)).toEqual([]);
  });

  it("by SIGKILL leaves what the next run removes where the folder for temporary files is deep, too", async () => {
    const temporary = join(shortFolder(), "a-name-that-leaves-no-room-for-a-socket-below".repeat(2));
    mkdirSync(temporary);
    const page = await serve(SITE);
    const killed = begin(temporary, CHROMIUM, page.url);
    await page.next();
    killed.started.child.kill("SIGKILL");
    await killed.started.ended;
    await until(() => processesOf(temporary).length === 0);
    const left = readdirSync("/tmp").filter(
      (name) => ownerOf(join("/tmp", name)) === killed.started.child.pid,
    );
    expect(left).toEqual([expect.stringMatching(/^memshade-chromium-/)]);
    // A process that is still ending writes to the folder while it is removed.
    await until(() => processesOf(join("/tmp", left[0])).length === 0);
    const next = begin(temporary, CHROMIUM, page.url);
    await page.next();
    next.started.child.kill("SIGINT");
    expect((await next.started.ended).code).toBe(0);
    expect(readdirSync("/tmp")).not.toContain(left[0]);
    expect(readdirSync(temporary)).toEqual([]);
  });
});

describe.skipIf(!isLinux)("a browser that never answers", () => {
  it("does not keep a signal from ending the run", async () => {
    const temporary = shortFolder();
    const silent = join(newFolder(), "chrome");
    writeFileSync(silent, "#!/bin/sh\nsleep 300\n");
    chmodSync(silent, 0o755);
    const { started, cwd } = begin(temporary, silent, "http://localhost:1/");
    await until(() => processesOf(temporary).some((line) => line.startsWith("sleep")));
    started.child.kill("SIGTERM");
    expect((await started.ended).signal).toBe("SIGTERM");
    expect([...readdirSync(temporary), ...readdirSync(cwd)]).toEqual([]);
    await until(() => processesOf(temporary).length === 0);
  });
});
