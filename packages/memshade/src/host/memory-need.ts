import { UserError } from "../bytes/errors.ts";
import { type ToolOptions, toInstrumentOptions } from "../tools/run-options.ts";
import { shadowBytesPerByte } from "../tools/shadow-cost.ts";
import { decodeModule, memoryCount, memoryType } from "../wasm/index.ts";

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
  return `${Math.floor(bytes / MIB).toLocaleString("en-US")} MiB`;
}

/** What is to be said in front of a run whose tools take many times the program's memory; undefined: nothing. */
export function memoryWarning(
  tools: ToolOptions,
  available: number = process.availableMemory(),
): string | undefined {
  const options = costlyOptions(tools);
  if (options === undefined) return undefined;
  const factor = bytesPerByte(tools);
  const verb = options.includes(" ") ? "take" : "takes";
  return (
    `${options} ${verb} up to ${factor.toFixed(1)} times the memory that the program uses: ` +
    `the ${inMib(available)} available here are enough for ${inMib(available / factor)} of its own`
  );
}

/**
 * Refuses a module whose memory does not fit from the start.
 *
 * @throws UserError with the figure
 */
export function assertMemoryFits(
  bytes: Uint8Array,
  name: string,
  tools: ToolOptions,
  available: number = process.availableMemory(),
): void {
  const options = costlyOptions(tools);
  if (options === undefined) return;
  const module = decodeModule(bytes);
  if (memoryCount(module) === 0) return;
  const { minimum, pageSizeLog2 } = memoryType(module, 0);
  const initial = minimum * 2 ** pageSizeLog2;
  const needed = initial * bytesPerByte(tools);
  if (needed <= available) return;
  throw new UserError(
    `${name}: its memory begins with ${inMib(initial)}, which with ${options} may take ${inMib(needed)}; ` +
      `${inMib(available)} are available: leave ${options} out, or run it where there is more memory`,
  );
}

const LOOK_EVERY_MS = 100;
/** Part of the memory that was available at the start; with less the system may end the process at any time. */
const SHORT = 1 / 16;

/** Says once when memory becomes short, before the system ends the process without a word. Returns how to stop looking. */
export function watchMemory(tools: ToolOptions, say: (line: string) => void): () => void {
  const options = costlyOptions(tools);
  if (options === undefined) return () => {};
  const short = process.availableMemory() * SHORT;
  const timer = setInterval(() => {
    const available = process.availableMemory();
    if (available >= short) return;
    clearInterval(timer);
    say(
      `memory is short: ${inMib(available)} are left. ${options} needs up to ${bytesPerByte(tools).toFixed(1)} times the ` +
        "memory that the program uses; the system may end the run. Use a smaller input, or leave it out",
    );
  }, LOOK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
