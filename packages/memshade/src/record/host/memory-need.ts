import { groupDigits } from "../../profile/model/counted.ts";
import { type ToolOptions, toInstrumentOptions } from "../tools/run-options.ts";
import { shadowBytesPerByte } from "../tools/shadow-cost.ts";

const MIB = 2 ** 20;

/** What a program takes for each byte of its memory, with the byte itself. */
function bytesPerByte(tools: ToolOptions): number {
  return 1 + shadowBytesPerByte(toInstrumentOptions(tools));
}

/** The options that make the waste tool keep a writer and a reader for each byte, as they were given. */
function costlyOptions({ tools, waste }: ToolOptions): string | undefined {
  if (!tools?.includes("waste")) return undefined;
  const given = [waste?.pairs && "--pairs", waste?.objects && "--objects"].filter(Boolean);
  return given.length === 0 ? undefined : given.join(" and ");
}

function inMib(bytes: number): string {
  return `${groupDigits(Math.floor(bytes / MIB))} MiB`;
}

/** What is to be said in front of a run whose tools take many times the program's memory; undefined: nothing. */
export function memoryWarning(
  tools: ToolOptions,
  available: number = process.availableMemory(),
): string | undefined {
  const options = costlyOptions(tools);
  if (options === undefined) return undefined;
  return (
    `${takesTimes(options, tools)}: ` +
    `the ${inMib(available)} available here are enough for ${inMib(available / bytesPerByte(tools))} of its own`
  );
}

function takesTimes(options: string, tools: ToolOptions): string {
  const verb = options.includes(" ") ? "take" : "takes";
  return `${options} ${verb} up to ${bytesPerByte(tools).toFixed(1)} times the memory that the program uses`;
}

/**
 * Why there is not enough memory for a program's own one to begin so large, with the figures and what to do; undefined: there is.
 *
 * @param initial bytes
 */
export function memoryShortage(
  initial: number,
  tools: ToolOptions,
  available: number = process.availableMemory(),
): MemoryShortage | undefined {
  const options = costlyOptions(tools);
  if (options === undefined) return undefined;
  const needed = initial * bytesPerByte(tools);
  if (needed <= available) return undefined;
  return {
    figures: `${inMib(initial)}, which with ${options} may take ${inMib(needed)}; ${inMib(available)} are available`,
    help: `leave ${options} out, or run it where there is more memory`,
  };
}

/** Parts of a sentence. */
export interface MemoryShortage {
  figures: string;
  help: string;
}

const LOOK_EVERY_MS = 100;
/** Part of the memory that was available at the start; with less the system may end the process at any time. */
const SHORT = 1 / 16;

/** Says once when memory becomes short, before the system ends the process without a word. Returns how to stop looking. */
export function watchMemory(
  tools: ToolOptions,
  say: (line: string) => void,
  availableMemory: () => number = () => process.availableMemory(),
): () => void {
  const options = costlyOptions(tools);
  if (options === undefined) return () => {};
  const short = availableMemory() * SHORT;
  const timer = setInterval(() => {
    const available = availableMemory();
    if (available >= short) return;
    clearInterval(timer);
    say(
      `memory is short: ${inMib(available)} are left. ${takesTimes(options, tools)}; ` +
        `the system may end the run. Use a smaller input, or leave ${options} out`,
    );
  }, LOOK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
