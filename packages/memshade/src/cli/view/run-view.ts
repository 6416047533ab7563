import { emitKeypressEvents } from "node:readline";
import { printableOutput } from "../../profile/model/printable.ts";
import { createPaint, type Paint, wantsColors } from "../../show/report/terminal/common/paint.ts";
import { render } from "../../show/report/terminal/view/render.ts";
import { update } from "../../show/report/terminal/view/update.ts";
import { type ViewContents, ViewModel } from "../../show/report/terminal/view/view-model.ts";
import { initialState, type Size, type ViewState } from "../../show/report/terminal/view/view-state.ts";

const ESCAPE = "\u001b";
/** Alternate screen of the terminal, without a cursor and line wrapping. */
const ENTER = `${ESCAPE}[?1049h${ESCAPE}[?25l${ESCAPE}[?7l`;
const LEAVE = `${ESCAPE}[?7h${ESCAPE}[?25h${ESCAPE}[?1049l`;
/**
 * Delay before the terminal is used again after a stop request, in milliseconds. The process is stopped by
 * then, if a shell waits.
 */
const RESUME_MS = 50;
/** Signals that end a program, with their numbers. The exit code is 128 + number. */
const ENDS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;

export interface TerminalEvents {
  /** Receives the name of a key, or its character. */
  key(key: string): void;
  resize(): void;
  end(exitCode: number): void;
  fail(error: unknown): void;
}

interface Keypress {
  readonly name?: string | undefined;
  readonly sequence?: string | undefined;
  readonly ctrl?: boolean | undefined;
  readonly meta?: boolean | undefined;
}

const NAMES: Readonly<Record<string, string>> = { return: "enter", space: " " };

/** A terminal that shows whole screens. It is restored whenever and however the program ends. */
class FullScreen {
  readonly #input = process.stdin;
  readonly #output = process.stdout;
  readonly #events: TerminalEvents;
  readonly #undo: (() => void)[] = [];
  #isEntered = false;

  constructor(events: TerminalEvents) {
    this.#events = events;
  }

  get size(): Size {
    return { columns: this.#output.columns, rows: this.#output.rows };
  }

  open(): void {
    emitKeypressEvents(this.#input);
    this.#on(this.#input, "keypress", (text: string | undefined, key: Keypress) => this.#pressed(text, key));
    this.#on(this.#input, "end", () => this.#events.end(0));
    this.#on(this.#output, "resize", () => this.#events.resize());
    this.#on(process, "uncaughtException", (error: Error) => this.#events.fail(error));
    // Handles every other end of the process.
    this.#on(process, "exit", () => this.#leave());
    for (const [signal, number] of Object.entries(ENDS))
      this.#on(process, signal, () => this.#events.end(128 + number));
    this.#on(process, "SIGCONT", () => this.#resume());
    this.#enter();
    this.#input.resume();
  }

  close(): void {
    this.#leave();
    this.#input.pause();
    for (const undo of this.#undo.splice(0)) undo();
  }

  /** Shows lines, one for each row of the terminal. */
  show(lines: readonly string[]): void {
    const rows = lines.map((line, row) => `${ESCAPE}[${row + 1};1H${ESCAPE}[K${printableOutput(line)}`);
    this.#output.write(rows.join(""));
  }

  #enter(): void {
    if (this.#isEntered) return;
    this.#isEntered = true;
    this.#input.setRawMode(true);
    this.#output.write(ENTER);
  }

  #leave(): void {
    if (!this.#isEntered) return;
    this.#isEntered = false;
    this.#output.write(LEAVE);
    this.#input.setRawMode(false);
  }

  #pressed(text: string | undefined, { name, sequence, ctrl, meta }: Keypress): void {
    if (ctrl === true) {
      if (name === "c") this.#events.end(128 + ENDS.SIGINT);
      else if (name === "z") this.#suspend();
      else if (name === "l") this.#events.resize();
      return;
    }
    if (meta === true && name !== "escape") return;
    const isCharacter = text !== undefined && [...text].length === 1 && !/\p{Cc}/u.test(text);
    const key = isCharacter ? text : (NAMES[name ?? ""] ?? name ?? sequence);
    if (key !== undefined) this.#events.key(key);
  }

  /**
   * Handles Ctrl-Z as shells expect: releases the terminal until the program continues. Without a waiting
   * shell, it continues at once.
   */
  #suspend(): void {
    this.#leave();
    process.kill(process.pid, "SIGTSTP");
    setTimeout(() => this.#resume(), RESUME_MS);
  }

  #resume(): void {
    if (this.#isEntered || this.#undo.length === 0) return;
    this.#enter();
    this.#events.resize();
  }

  #on(emitter: NodeJS.EventEmitter, event: string, listener: (...args: never[]) => void): void {
    emitter.on(event, listener as (...args: unknown[]) => void);
    this.#undo.push(() => emitter.off(event, listener as (...args: unknown[]) => void));
  }
}

/** Shows a run until the user quits. Resolves to the exit code. */
export function runView(contents: ViewContents): Promise<number> {
  return new Promise((resolve, reject) => {
    const paint: Paint = createPaint(wantsColors("auto", true, process.env));
    const model = new ViewModel(contents);
    let state: ViewState = initialState(model);
    const show = (): void => {
      const rendered = render(model, state, terminal.size, paint);
      state = rendered.state;
      terminal.show(rendered.lines);
    };
    const end = (exitCode: number): void => {
      terminal.close();
      resolve(exitCode);
    };
    /** An error in a listener would be printed over the screen, so the terminal is closed first. */
    const guarded =
      <Args extends unknown[]>(action: (...args: Args) => void) =>
      (...args: Args): void => {
        try {
          action(...args);
        } catch (error) {
          terminal.close();
          reject(error);
        }
      };
    const terminal: FullScreen = new FullScreen({
      key: guarded((key: string) => {
        state = update(model, state, key, terminal.size);
        if (state.isDone) end(0);
        else show();
      }),
      resize: guarded(show),
      end,
      fail: guarded((error: unknown) => {
        throw error;
      }),
    });
    guarded(() => {
      terminal.open();
      show();
    })();
  });
}
