import type { ToolPass } from "../tool.ts";

/** A pass that has a method for an event. */
export type Listening<Event extends keyof ToolPass> = ToolPass & Required<Pick<ToolPass, Event>>;

/** The passes that follow a part of the code, by the events they listen to: nobody else is asked when one happens. */
export class Listeners {
  readonly access: readonly Listening<"access">[];
  readonly bulk: readonly Listening<"bulk">[];
  readonly enterBlock: readonly Listening<"enterBlock">[];
  readonly endBlock: readonly Listening<"endBlock">[];
  readonly enterLoop: readonly Listening<"enterLoop">[];
  readonly leaveLoop: readonly Listening<"leaveLoop">[];
  readonly passBlock: readonly Listening<"passBlock">[];
  readonly caught: readonly Listening<"caught">[];
  readonly merge: readonly Listening<"merge">[];
  readonly leave: readonly Listening<"leave">[];
  readonly setGlobal: readonly Listening<"setGlobal">[];
  readonly grow: readonly Listening<"grow">[];
  readonly object: readonly Listening<"object">[];
  readonly call: readonly Listening<"call">[];
  readonly end: readonly Listening<"end">[];
  /** All of them. */
  readonly passes: readonly ToolPass[];

  constructor(passes: readonly ToolPass[]) {
    const to = <Event extends keyof ToolPass>(event: Event): readonly Listening<Event>[] =>
      passes.filter((pass): pass is Listening<Event> => pass[event] !== undefined);
    this.passes = passes;
    this.access = to("access");
    this.bulk = to("bulk");
    this.enterBlock = to("enterBlock");
    this.endBlock = to("endBlock");
    this.enterLoop = to("enterLoop");
    this.leaveLoop = to("leaveLoop");
    this.passBlock = to("passBlock");
    this.caught = to("caught");
    this.merge = to("merge");
    this.leave = to("leave");
    this.setGlobal = to("setGlobal");
    this.grow = to("grow");
    this.object = to("object");
    this.call = to("call");
    this.end = to("end");
  }
}
