import { MIB } from "../../ground/bytes/sizes.ts";
import { groupDigits } from "../../profile/model/counted.ts";
import { type ToolOptions, toInstrumentOptions } from "../tools/run-options.ts";
import { costlyFlags, shadowBytesPerByte } from "../tools/shadow-cost.ts";

/** Returns the bytes that a program takes per byte of its memory, that byte included. */
function bytesPerByte(tools: ToolOptions): number {
  return 1 + shadowBytesPerByte(toInstrumentOptions(tools));
}

/** Returns the given options with which tools take many times the program's memory. */
function costlyOptions(tools: ToolOptions): string | undefined {
  const given = costlyFlags(toInstrumentOptions(tools));
  return given.length === 0 ? undefined : given.join(" and ");
}

function inMib(bytes: number): string {
  return `${groupDigits(Math.floor(bytes / MIB))} MiB`;
}

/** Returns a warning for a run whose tools take many times the program's memory; undefined if they do not. */
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
 * Returns the figures and a remedy if there is not enough memory for the program's initial memory; undefined if there
 * is.
 * @param initialBytes called if tools take many times the program's memory
 */
export function memoryShortage(
  initialBytes: () => number,
  tools: ToolOptions,
  available: number = process.availableMemory(),
): MemoryShortage | undefined {
  const options = costlyOptions(tools);
  if (options === undefined) return undefined;
  const initial = initialBytes();
  const needed = initial * bytesPerByte(tools);
  if (needed <= available) return undefined;
  return {
    figures: `${inMib(initial)}, which with ${options} may take ${inMib(needed)}; ${inMib(available)} are available`,
    help: `leave ${options} out, or run it where there is more memory`,
  };
}

export interface MemoryShortage {
  figures: string;
  help: string;
}

const LOOK_EVERY_MS = 100;
/** Share of the memory available at the start. With less, the system may end the process at any time. */
const SHORT = 1 / 16;

/**
 * Warns once when memory becomes short, before the system ends the process silently. Returns a function that stops the
 * checks.
 */
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
      `memory is running out: ${inMib(available)} are left. ${takesTimes(options, tools)}; ` +
        `the system may end the run. Use a smaller input, or leave ${options} out`,
    );
  }, LOOK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
