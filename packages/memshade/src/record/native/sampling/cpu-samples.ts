import { counted } from "../../../profile/model/counted.ts";
import { CPU_SCHEMA, CPU_VERSION, type CpuSamples } from "../../../profile/model/cpu/cpu-samples.ts";
import { Sampling } from "./layout.ts";
import { type SampledMemory, SampleReader } from "./sample-reader.ts";

/** The samples of one process: what a run keeps of them, and what is said of them while it runs. */
export class ProcessSamples {
  readonly #hz: number;
  readonly #reader: SampleReader;
  #moves = 0;

  constructor(hz: number, image: string) {
    this.#hz = hz;
    this.#reader = new SampleReader(image);
  }

  /** To be called often. @returns sentences for the user */
  readFrom(memory: SampledMemory): string[] {
    this.#reader.readFrom(memory);
    const moves = memory.header(Sampling.moves);
    if (moves === this.#moves) return [];
    this.#moves = moves;
    return [moveInWords(memory)];
  }

  /** What `cpu.json` has of all that was read so far. */
  file(memory: SampledMemory): CpuSamples {
    this.#reader.readFrom(memory);
    const { threads, stacks, rows, own, endedEarly, cut } = this.#reader.read;
    const inTime = rows.toSorted((a, b) => a.ms - b.ms);
    const missed = memory.u64(Sampling.missed);
    const refused = memory.u64(Sampling.refused);
    return {
      schema: CPU_SCHEMA,
      version: CPU_VERSION,
      hz: this.#hz,
      threads,
      stacks,
      samples: {
        ms: inTime.map(({ ms }) => ms),
        thread: inTime.map(({ thread }) => thread),
        stack: inTime.map(({ stack }) => stack),
        periods: inTime.map(({ periods }) => periods),
      },
      lost: missed + refused,
      own,
      endedEarly,
      notTracked: [
        ...lossInWords(missed, refused, rows.length + own, this.#hz),
        ...(own === 0
          ? []
          : [
              `${counted(own, "sample, which fell", "samples, which fell")} into the recording itself, ${own === 1 ? "is" : "are"} left out.`,
            ]),
        ...(endedEarly === cut
          ? []
          : [
              `${counted(endedEarly - cut, "stack of a sample", "stacks of samples")} ended early, where no table says how code was called.`,
            ]),
        ...(cut === 0
          ? []
          : [
              `${counted(cut, "stack of a sample was", "stacks of samples were")} deeper than is kept: outermost frames are missing.`,
            ]),
        ...(this.#moves === 0 ? [] : [`${capitalized(moveInWords(memory))}.`]),
        ...failureInWords(memory.header(Sampling.failure)),
      ],
    };
  }
}

function lossInWords(missed: number, refused: number, taken: number, hz: number): string[] {
  const words: string[] = [];
  if (missed > 0) {
    const isCoarse = missed > taken;
    words.push(
      `${counted(missed, "sample", "samples")} of ${taken + missed} ${missed === 1 ? "was" : "were"} lost: ` +
        (isCoarse
          ? `the system's clock is too coarse for ${hz}hz.`
          : "the system was late, or the program kept signals off. The next one of the thread stands for them."),
    );
  }
  if (refused > 0)
    words.push(
      `${counted(refused, "sample was", "samples were")} lost because they came faster than they could be read.`,
    );
  return words;
}

function moveInWords(memory: SampledMemory): string {
  const signal = memory.header(Sampling.signal);
  const used = `the program uses signal ${memory.header(Sampling.taken)} itself`;
  return signal === 0
    ? `${used}, as all others that could interrupt it: no more samples are taken`
    : `${used}: samples are taken by signal ${signal} instead`;
}

function failureInWords(errno: number): string[] {
  if (errno === 0) return [];
  return [`Some threads have no samples: the system gave them no timer (error ${errno}).`];
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
