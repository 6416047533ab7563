import { entryOf } from "../../../ground/bytes/entries.ts";
import type { PerfHeader } from "../../../profile/formats/perf-data/index.ts";
import { NONE } from "../../../profile/model/indices.ts";
import {
  type SampleFrame,
  type SampleProfile,
  SampleProfileBuilder,
  type ValueType,
} from "../../../profile/model/sample-profile.ts";
import { type FrameNamer, withoutParameters } from "../names.ts";
import { MappedModule, type NativeFile } from "../native-file.ts";
import type { KernelNamer } from "./kallsyms.ts";
import type { CodePlace, SampleStack } from "./sample-walks.ts";

/** Events whose period is a time. */
const CLOCK = /^(?:cpu-clock|task-clock)(?::|$)/;

export interface EventProfile {
  readonly name: string;
  readonly profile: SampleProfile;
}

/** True if a name is that of an event, with or without modifiers: `cycles` matches `cycles:u`. */
export function isEventOf(event: string, name: string): boolean {
  return event === name || (!name.includes(":") && event.startsWith(`${name}:`));
}

export class PerfProfileBuilder {
  readonly #namer: FrameNamer;
  readonly #kernelNamer: KernelNamer | undefined;
  readonly #builder: SampleProfileBuilder;
  readonly #columns: ReadonlyMap<number, number>;
  readonly #eventOf: number[] = [];
  readonly #header: PerfHeader;
  readonly #threads = new Map<string, number>();
  readonly #modules = new Map<NativeFile, number>();
  /** Frames of an address, outermost first, by file and address in it. */
  readonly #frames = new Map<NativeFile, Map<number, readonly number[]>>();
  readonly #unmapped = new Map<string, number>();
  /** Places of the previous sample, outermost first, and the stack up to each. */
  readonly #lastPlaces: CodePlace[] = [];
  readonly #lastStacks: number[] = [];
  #firstTime = Number.NaN;

  /** @param shown name of the only event to add; undefined for all events */
  constructor(header: PerfHeader, namer: FrameNamer, kernelNamer?: KernelNamer, shown?: string) {
    this.#header = header;
    this.#namer = namer;
    this.#kernelNamer = kernelNamer;
    const columns = new Map<number, number>();
    const valueTypes: ValueType[] = [{ type: "samples", unit: "count" }];
    for (const [event, { name }] of header.events.entries()) {
      if (shown !== undefined && !isEventOf(name, shown)) continue;
      columns.set(event, valueTypes.length);
      const type = CLOCK.test(name) ? "cpu" : name;
      const taken = valueTypes.filter(
        (valueType) => valueType.type === type || valueType.type.startsWith(`${type}#`),
      ).length;
      valueTypes.push({
        type: taken === 0 ? type : `${type}#${taken + 1}`,
        unit: CLOCK.test(name) ? "nanoseconds" : "count",
      });
    }
    this.#columns = columns;
    this.#builder = new SampleProfileBuilder({
      name: header.commandLine.join(" ") || "perf.data",
      valueTypes,
      notes: ["Recorded by perf; the stacks were unwound afterwards by call frame information."],
    });
  }

  add({ sample, threadName, kernel, kernelText, frames }: SampleStack): void {
    const column = this.#columns.get(sample.event);
    if (column === undefined) return;
    let stack = this.#stackOf(frames);
    for (let index = kernel.length - 1; index >= 0; index--) {
      const address = kernel[index]!;
      const name = this.#kernelNamer?.name(address, kernelText)?.name ?? `0x${address}`;
      stack = this.#builder.stack(stack, this.#unmappedFrame(`[kernel] ${name}`));
    }
    const values = new Array<number>(this.#columns.size + 1).fill(0);
    values[0] = 1;
    values[column] = sample.period;
    this.#eventOf.push(sample.event);
    if (Number.isNaN(this.#firstTime)) this.#firstTime = sample.time;
    const thread = this.#threadOf(sample.pid, sample.tid, threadName);
    this.#builder.addSample(thread, stack, values, (sample.time - this.#firstTime) / 1e6);
  }

  /**
   * Returns the stack of places, which are given innermost first. Its outer part is mostly that of the previous
   * sample.
   */
  #stackOf(places: readonly CodePlace[]): number {
    const lastPlaces = this.#lastPlaces;
    const lastStacks = this.#lastStacks;
    const depth = places.length;
    let level = 0;
    while (level < depth && level < lastPlaces.length && places[depth - 1 - level] === lastPlaces[level])
      level++;
    lastPlaces.length = level;
    lastStacks.length = level;
    let stack = level === 0 ? NONE : lastStacks[level - 1]!;
    for (; level < depth; level++) {
      const place = places[depth - 1 - level]!;
      place.frames ??= this.#framesOf(place);
      for (const frame of place.frames) stack = this.#builder.stack(stack, frame);
      lastPlaces.push(place);
      lastStacks.push(stack);
    }
    return stack;
  }

  finish(): SampleProfile {
    return this.#builder.finish();
  }

  /** Returns a separate profile for each event with samples; the profiles share everything but the samples. */
  finishByEvent(): EventProfile[] {
    const profile = this.finish();
    const { stack, thread, values, timeMs } = profile.samples;
    return [...this.#columns.keys()].flatMap((event) => {
      const rows = this.#eventOf.flatMap((sampleEvent, row) => (sampleEvent === event ? [row] : []));
      const pick = (column: readonly number[]) => rows.map((row) => column[row]!);
      const samples = {
        length: rows.length,
        stack: pick(stack),
        thread: pick(thread),
        values: values.map(pick),
        timeMs: timeMs && pick(timeMs),
      };
      const { name } = this.#header.events[event]!;
      return rows.length === 0 ? [] : [{ name, profile: { ...profile, samples } }];
    });
  }

  #threadOf(pid: number, tid: number, name: string): number {
    const key = `${pid} ${tid} ${name}`;
    return entryOf(this.#threads, key, () => this.#builder.addThread({ pid, tid, name }));
  }

  #framesOf({ address, module }: CodePlace): readonly number[] {
    if (!(module instanceof MappedModule)) return [this.#unmappedFrame(`0x${address.toString(16)}`)];
    const cached = entryOf(this.#frames, module.file, () => new Map());
    const own = address - module.bias;
    return entryOf(cached, own, () => this.#nameFrames(module.file, own));
  }

  #nameFrames(file: NativeFile, address: number): readonly number[] {
    const module = this.#moduleOf(file);
    const named = this.#namer.name(file, address).frames.toReversed();
    return named.map((frame): number => {
      const { linkageName, file: source, line, column, startLine, inlined } = frame;
      const name = frame.function && withoutParameters(frame.function);
      const unknown = `0x${address.toString(16)} (${file.path.slice(file.path.lastIndexOf("/") + 1)})`;
      const sampleFrame: SampleFrame = {
        function: name || unknown,
        linkageName,
        file: source,
        line,
        column,
        startLine,
        address,
        module,
        inlined,
      };
      return this.#builder.frame(sampleFrame);
    });
  }

  #unmappedFrame(name: string): number {
    let frame = this.#unmapped.get(name);
    if (frame === undefined) {
      frame = this.#builder.frame({ function: name });
      this.#unmapped.set(name, frame);
    }
    return frame;
  }

  #moduleOf(file: NativeFile): number {
    return entryOf(this.#modules, file, () => {
      const ends = file.found?.object.segments.map((segment) => segment.address + segment.memorySize) ?? [];
      return this.#builder.addModule({
        name: file.path.slice(file.path.lastIndexOf("/") + 1),
        path: file.path,
        buildId: file.found?.object.buildId ?? file.buildId,
        start: 0,
        end: Math.max(0, ...ends),
      });
    });
  }
}
