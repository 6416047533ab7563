import { emitKeypressEvents } from "node:readline";
import { printableOutput } from "../../profile/model/printable.ts";
import { createPaint, type Paint, wantsColors } from "../../show/report/terminal/common/paint.ts";
import { render } from "../../show/report/terminal/view/render.ts";
import { update } from "../../show/report/terminal/view/update.ts";
import { type ViewContents, ViewModel } from "../../show/report/terminal/view/view-model.ts";
import { initialState, type Size, type ViewState } from "../../show/report/terminal/view/view-state.ts";

const ESCAPE = "\u001b";
/** The other screen of the terminal, without a cursor and without lines that wrap. */
const ENTER = `${ESCAPE}[?1049h${ESCAPE}[?25l${ESCAPE}[?7l`;
const LEAVE = `${ESCAPE}[?7h${ESCAPE}[?25h${ESCAPE}[?1049l`;
/** The process has stopped by then, if it does. */
const RESUME_MS = 50;
/** Signals that end a program, with their numbers: its exit code is 128 more. */
const ENDS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;

/** What happens at a terminal. */
export interface TerminalEvents {
  /** The name of a key, or its character. */
  key(key: string): void;
  resize(): void;
  /** Somebody or something ends the program, with this exit code. */
  end(exitCode: number): void;
  /** Something went wrong that nobody caught. */
  fail(error: unknown): void;
}

interface Keypress {
  readonly name?: string | undefined;
  readonly sequence?: string | undefined;
  readonly ctrl?: boolean | undefined;
  readonly meta?: boolean | undefined;
}

const NAMES: Readonly<Record<string, string>> = { return: "enter", space: " " };

/** A terminal that shows whole screens. However the program ends, it is as before afterwards. */
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
    // Whatever else ends the process comes by here.
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

  /** As shells expect it of Ctrl-Z: the terminal is theirs until the program goes on. Where no shell waits, it goes on at once. */
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

/** Shows what is in a run until somebody has seen enough. The result is the exit code. */
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
    /** What goes wrong in a listener would be told over the screen. */
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
