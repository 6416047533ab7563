import { UserError } from "../../ground/bytes/errors.ts";
import { isEventOf } from "../../names/stacks/recordings/perf-profile.ts";
import type { PerfHeader } from "../../profile/formats/perf-data/index.ts";

/** The events of a recording that `--event` asks for: all of them without it. */
export class EventChoice {
  readonly #name: string | undefined;

  constructor(name: string | undefined) {
    this.#name = name;
  }

  isNamed(event: string): boolean {
    return this.#name === undefined || isEventOf(event, this.#name);
  }

  /** Whether samples of an event are asked for. */
  has(event: number, header: PerfHeader): boolean {
    return this.isNamed(header.events[event]!.name);
  }

  /** @throws UserError if the recording has no such event */
  check({ events }: PerfHeader): void {
    if (this.#name === undefined || events.some(({ name }) => this.isNamed(name))) return;
    const names = [...new Set(events.map(({ name }) => name))].join(", ");
    throw new UserError(`--event ${this.#name}: the recording has ${names === "" ? "no events" : names}`);
  }
}
