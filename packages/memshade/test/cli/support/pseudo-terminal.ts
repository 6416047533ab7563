import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import headless from "@xterm/headless";
import { MAIN } from "../../command.ts";

const POLL_MS = 20;
/** Time limit, longer than any command takes on a busy machine. */
const PATIENCE_MS = 40_000;

export const hasPseudoTerminals = spawnSync("script", ["--version"]).status === 0;

export const UP = "\u001b[A";
export const DOWN = "\u001b[B";
export const RIGHT = "\u001b[C";
export const PAGE_DOWN = "\u001b[6~";
export const ENTER = "\r";
export const ESCAPE = "\u001b";

export interface TerminalOptions {
  readonly cwd: string;
  readonly columns?: number;
  readonly rows?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly execArgv?: readonly string[];
  /** True to run the command as a job of a shell: the shell continues when the job is suspended, and resumes it after Enter. */
  readonly isJob?: boolean;
}

/** A command at a terminal: tests send keys and read the screen as a person sees it. */
export class PseudoTerminal {
  readonly #child: ChildProcess;
  readonly #terminal: InstanceType<typeof headless.Terminal>;
  readonly #folder: string;
  readonly #ended: Promise<number | null>;
  /** The whole output, including escape sequences. */
  raw = "";

  constructor(args: readonly string[], options: TerminalOptions) {
    const { cwd, columns = 80, rows = 24, env = {}, execArgv = [], isJob = false } = options;
    this.#terminal = new headless.Terminal({ cols: columns, rows, allowProposedApi: true });
    this.#folder = mkdtempSync(join(tmpdir(), "memshade-"));
    const quoted = [process.execPath, ...execArgv, MAIN, ...args].map(
      (word) => `'${word.replaceAll("'", "'\\''")}'`,
    );
    const command = quoted.join(" ");
    const run = isJob ? `set -m; ${command}; echo is stopped; read key; fg` : `exec ${command}`;
    const line = `tty > '${this.#name}'; stty cols ${columns} rows ${rows}; ${run}`;
    const { NO_COLOR: _, ...around } = process.env;
    this.#child = spawn("script", ["-qefc", line, "/dev/null"], {
      cwd,
      env: { ...around, TERM: "xterm-256color", SHELL: "/bin/sh", ...env },
    });
    this.#child.stdout!.setEncoding("utf8").on("data", (text: string) => {
      this.raw += text;
      this.#terminal.write(text);
    });
    this.#ended = new Promise((resolve) => this.#child.on("close", (code) => resolve(code)));
  }

  get #name(): string {
    return join(this.#folder, "tty");
  }

  press(...keys: readonly string[]): void {
    this.#child.stdin!.write(keys.join(""));
  }

  /** Lines of the screen, without trailing spaces. */
  async screen(): Promise<string[]> {
    await new Promise<void>((resolve) => this.#terminal.write("", resolve));
    const { active } = this.#terminal.buffer;
    return Array.from({ length: this.#terminal.rows }, (_, row) =>
      (active.getLine(active.baseY + row)?.translateToString(true) ?? "").trimEnd(),
    );
  }

  /** Waits until the screen fits. */
  async until(fits: (screen: readonly string[]) => boolean, what: string): Promise<string[]> {
    const end = performance.now() + PATIENCE_MS;
    for (;;) {
      const screen = await this.screen();
      if (fits(screen)) return screen;
      if (performance.now() > end)
        throw new Error(`no screen ${what}:\n${screen.join("\n")}\n${this.raw.slice(-500)}`);
      await wait(POLL_MS);
    }
  }

  shows(text: string | RegExp): Promise<string[]> {
    return this.until(
      (lines) => (typeof text === "string" ? lines.join("\n").includes(text) : text.test(lines.join("\n"))),
      `with ${text}`,
    );
  }

  resize(columns: number, rows: number): void {
    this.#terminal.resize(columns, rows);
    spawnSync("stty", ["-F", this.#device, "cols", `${columns}`, "rows", `${rows}`]);
  }

  /** Settings of the terminal, such as `echo` and `icanon`; a minus marks those that are off. */
  get settings(): string {
    return spawnSync("stty", ["-F", this.#device, "-a"], { encoding: "utf8" }).stdout;
  }

  get #device(): string {
    return readFileSync(this.#name, "utf8").trim();
  }

  async isFullScreen(): Promise<boolean> {
    await this.screen();
    return this.#terminal.buffer.active.type === "alternate";
  }

  async ended(): Promise<number | null> {
    const code = await this.#ended;
    if (existsSync(this.#folder)) rmSync(this.#folder, { recursive: true });
    return code;
  }

  kill(): void {
    this.#child.kill();
  }
}
