import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { memshade, newFolder } from "./support/command-line.ts";
import {
  DOWN,
  ENTER,
  ESCAPE,
  hasPseudoTerminals,
  PAGE_DOWN,
  PseudoTerminal,
  RIGHT,
  type TerminalOptions,
  UP,
} from "./support/pseudo-terminal.ts";

const DEMO = fileURLToPath(new URL("../../demo/", import.meta.url));
const cwd = newFolder();
if (!hasPseudoTerminals)
  console.warn("SKIPPED: script(1) is not installed, nothing is shown in pseudo-terminals");

beforeAll(async () => {
  copyFileSync(join(DEMO, "shop.wasm"), join(cwd, "shop.wasm"));
  copyFileSync(join(DEMO, "shop.c"), join(cwd, "shop.c"));
  const ran = await memshade(["run", "--quiet", "--tool", "heap,waste", "--out", "run", "shop.wasm"], {
    cwd,
  });
  expect(ran.code, ran.stderr).toBe(0);
});

async function view(
  options: Partial<TerminalOptions> = {},
  args: readonly string[] = [],
): Promise<PseudoTerminal> {
  const terminal = new PseudoTerminal(["view", "run", ...args], { cwd, ...options });
  await terminal.shows("Findings of run");
  return terminal;
}

const cursor = (screen: readonly string[]) => screen.find((line) => line.startsWith(">"));
const isFilled = (screen: readonly string[], rows: number) =>
  screen[0]?.startsWith("Findings of run") === true && screen[rows - 1]?.startsWith("Enter source") === true;
const cursorIn = (terminal: PseudoTerminal, text: string) =>
  terminal.until((screen) => cursor(screen)?.includes(text) === true, `with the cursor on ${text}`);

describe.skipIf(!hasPseudoTerminals)("memshade view at a terminal", () => {
  it("goes from a finding to its source line and its call tree by the keys of less and perf", async () => {
    const terminal = await view();
    const findings = await cursorIn(terminal, "leak");
    expect(findings[0]).toMatch(/^Findings of run +\d findings$/);
    expect(cursor(findings)).toContain("take_order (shop.c:42) are lost");
    terminal.press(ENTER);
    const source = await terminal.shows("→");
    expect(source.find((line) => line.startsWith("→"))).toMatch(/^→ +42 │ .*malloc/);
    terminal.press(DOWN);
    expect((await cursorIn(terminal, "main")).find((line) => line.startsWith("→"))).toContain("97 │");
    terminal.press(UP, ENTER);
    const tree = await terminal.shows("Heap by bytes live at the end");
    expect(cursor(tree)).toMatch(/35\.2 KiB +100 % +35\.2 KiB +take_order \(shop\.c:42\)/);
    terminal.press("s");
    await terminal.shows("Heap by bytes lost at the end");
    terminal.press("i");
    await terminal.shows("Heap callers by");
    terminal.press("t");
    await terminal.shows("Waste callers by dead bytes");
    terminal.press("f");
    await terminal.shows("Findings of run");
    terminal.press("q");
    expect(await terminal.ended()).toBe(0);
  });

  it("searches, shows what it is searching for, and has a help", async () => {
    const terminal = await view();
    terminal.press("/print");
    await terminal.until((screen) => screen.at(-1) === "/print", "with what was typed");
    terminal.press(ENTER);
    await cursorIn(terminal, "print_bill");
    terminal.press("/nothing of the sort", ENTER);
    await terminal.shows("Not found: nothing of the sort");
    terminal.press("t", PAGE_DOWN, RIGHT);
    await terminal.shows("Heap by bytes allocated");
    terminal.press("?");
    await terminal.shows("next measure");
    terminal.press("q");
    await terminal.shows("Heap by bytes allocated");
    terminal.press(ESCAPE);
    await terminal.shows("Findings of run");
    terminal.press("q");
    expect(await terminal.ended()).toBe(0);
  });

  it("fits the terminal again when that gets another size", async () => {
    const terminal = await view();
    terminal.resize(40, 8);
    const small = await terminal.until((screen) => isFilled(screen, 8), "of 8 rows");
    expect(small[0]).toMatch(/^Findings of run/);
    expect(cursor(small)).toMatch(/^> leak .{0,33}$/);
    terminal.resize(120, 30);
    const large = await terminal.until((screen) => isFilled(screen, 30), "of 30 rows");
    expect(cursor(large)).toContain("1,000 blocks of take_order (shop.c:42) are lost");
    terminal.resize(10, 3);
    await terminal.shows("too small");
    terminal.press("q");
    expect(await terminal.ended()).toBe(0);
  });

  it.each([
    ["q", "q", 0],
    ["Ctrl-C", "\u0003", 130],
  ])("leaves the terminal as it was after %s", async (_, keys, code) => {
    const terminal = await view();
    expect(await terminal.isFullScreen()).toBe(true);
    expect(terminal.settings).toContain("-icanon");
    terminal.press(keys);
    expect(await terminal.ended()).toBe(code);
    expect(await terminal.isFullScreen()).toBe(false);
    expect(terminal.raw.slice(-40)).toContain("\u001b[?25h");
    expect(await terminal.screen()).toEqual(Array.from({ length: 24 }, () => ""));
  });

  it("gives the terminal back while it is suspended, and shows the screen again", async () => {
    const terminal = await view({ isJob: true });
    terminal.press("\u001a");
    await terminal.shows("is stopped");
    expect(await terminal.isFullScreen()).toBe(false);
    expect(terminal.settings).toMatch(/(^| )icanon/m);
    terminal.press(ENTER);
    await terminal.shows("Findings of run");
    terminal.press("q");
    expect(await terminal.ended()).toBe(0);
  });

  it("goes on at once where no shell waits for it", async () => {
    const terminal = await view();
    terminal.press("\u001a");
    await terminal.until(() => terminal.raw.split("\u001b[?1049h").length === 3, "twice");
    terminal.press("t");
    await terminal.shows("Heap by bytes allocated");
    terminal.press("q");
    expect(await terminal.ended()).toBe(0);
  });

  it("leaves the terminal as it was when it crashes, and says so", async () => {
    const crash = join(cwd, "crash.mjs");
    writeFileSync(
      crash,
      'process.stdin.on("data", (bytes) => { if (String(bytes) === "X") throw new Error("boom"); });\n',
    );
    const terminal = await view({ execArgv: ["--import", crash] });
    terminal.press("X");
    expect(await terminal.ended()).toBe(70);
    expect(await terminal.isFullScreen()).toBe(false);
    expect((await terminal.screen()).join("\n")).toContain("boom");
  });

  it("has no colours with NO_COLOR, and marks the row that keys act on without them", async () => {
    const plain = await view({ env: { NO_COLOR: "1" } });
    expect(cursor(await plain.screen())).toContain("leak");
    plain.press("q");
    await plain.ended();
    const style = new RegExp(`${ESCAPE}\\[[\\d;]*m`);
    expect(plain.raw).not.toMatch(style);
    const colored = await view();
    colored.press("q");
    await colored.ended();
    expect(colored.raw).toMatch(style);
  });

  it("of a dumb terminal says what to use instead", async () => {
    const terminal = new PseudoTerminal(["view", "run"], { cwd, env: { TERM: "dumb" } });
    expect(await terminal.ended()).toBe(2);
    expect((await terminal.screen()).join(" ")).toContain("memshade: view needs a terminal to show screens");
  });
});

describe("memshade view without a terminal", () => {
  it("says in one line what to use instead", async () => {
    const { code, stdout, stderr } = await memshade(["view", "run"], { cwd });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toBe(
      "memshade: view needs a terminal to show screens: memshade report run and memshade tree run print instead\n",
    );
  });
});
