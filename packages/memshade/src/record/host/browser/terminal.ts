import { writeSync } from "node:fs";
import { isatty } from "node:tty";
import { printable } from "../../../profile/model/printable.ts";

const SHOWN_EVERY_MS = 1000;
const ERASE_LINE = "\r\u001b[K";
const CONTROL_C = "\u0003";

/** Shows a line in the terminal that changes while a run goes on; nothing where standard error is none. */
export class StatusLine {
  readonly #timer: NodeJS.Timeout | undefined;
  #isShown = false;

  constructor(text: () => string, isWanted: boolean) {
    if (!isWanted || !isatty(2)) return;
    this.#timer = setInterval(() => this.#show(text()), SHOWN_EVERY_MS);
    this.#timer.unref();
  }

  /** A line that wraps could not be erased. */
  #show(text: string): void {
    this.#write(`${ERASE_LINE}${printable(text).slice(0, (process.stderr.columns || 80) - 1)}`, true);
  }

  /** Makes room for another line. */
  clear(): void {
    if (this.#isShown) this.#write(ERASE_LINE, false);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.clear();
  }

  #write(text: string, isShown: boolean): void {
    try {
      writeSync(2, text);
    } catch {
      // Nobody looks.
    }
    this.#isShown = isShown;
  }
}

/**
 * Listens to single keys, if there is a terminal.
 *
 * @returns how to stop
 */
export function onKeys(keys: Readonly<Record<string, () => void>>, interrupt: () => void): () => void {
  const { stdin } = process;
  if (!stdin.isTTY) return () => {};
  const take = (data: Buffer): void => {
    for (const key of data.toString())
      if (key === CONTROL_C) interrupt();
      else keys[key.toLowerCase()]?.();
  };
  stdin.setRawMode(true);
  stdin.on("data", take);
  stdin.resume();
  return () => {
    stdin.off("data", take);
    stdin.setRawMode(false);
    stdin.pause();
  };
}
