import { BodyBuilder } from "../../../rewrite/write/body-builder.ts";
import { encodeConstantExpression, I32, referenceType, type ValType } from "../../../wasm/index.ts";
import { HostSlot } from "../../host-interface.ts";
import type { ToolSurroundings, WovenTool } from "../../tool.ts";
import { encodeCodeMarks } from "../../working-set/code-marks.ts";
import { encodeEvents } from "../event-table.ts";
import { hasObjectTypes } from "../instructions.ts";
import { Control } from "../layout.ts";
import { countersAt, DEFAULT_SAMPLE_BYTES, planObjectsLayout } from "../memory-plan.ts";
import { SizeModel } from "../size-model.ts";
import { ObjectsPass, type SamplingTargets } from "./objects-pass.ts";

/** Heap type `any` as a nullable reference, and the expression of its null. */
const ANYREF: ValType = 0x6e;
const NULL_ANY = Uint8Array.of(0xd0, 0x6e, 0x0b);
const ALIGNED_I32 = 2;
const HAS_MEMORY_INDEX = 0x40;

/** Weaves the counters of the objects tool into a module, and what chooses objects whose survival is followed. */
export function weaveObjects(around: ToolSurroundings): WovenTool | string {
  const { module, options, shadowMemory } = around;
  if (!hasObjectTypes(module))
    return "The module has no types of garbage-collected objects: the tool objects finds nothing in it.";
  const { fields = true, sampleBytes = DEFAULT_SAMPLE_BYTES, references = 4 } = options.objects ?? {};
  const model = new SizeModel(references);
  const sampling = sampleBytes === 0 ? undefined : new Sampling(around, sampleBytes);
  const pass = new ObjectsPass({
    memory: shadowMemory,
    counters: countersAt(sampleBytes),
    model,
    fields,
    sampling,
  });
  const layout = () =>
    planObjectsLayout({ counterCount: pass.counterCount, meanBytes: sampleBytes, references, fields });
  let calls = "";
  return {
    name: "objects",
    pass,
    get shadowBytes() {
      return layout().endBytes;
    },
    codeWritten: (places) => {
      calls = encodeCodeMarks(places);
    },
    describe: () => ({
      ...layout(),
      calls,
      asksHost: (options.hostStacks ?? "off") !== "off",
      events: encodeEvents(pass.events),
    }),
    ...(sampling === undefined ? {} : { globals: sampling.globals, globalExports: sampling.exported }),
    notTracked: [],
  };
}

/** What a module needs to hand single objects to its host. */
class Sampling implements SamplingTargets {
  readonly #around: ToolSurroundings;
  readonly #mean: number;
  readonly countdown: number;
  /** The object that the host is asked to look at. */
  readonly #object: number;
  readonly #callHost: number;
  readonly #chosen = new Map<number, { call: number; pass: number }>();

  constructor(around: ToolSurroundings, mean: number) {
    this.#around = around;
    this.#mean = mean;
    this.countdown = around.firstGlobal;
    this.#object = around.firstGlobal + 1;
    this.#callHost = around.callHost(HostSlot.Object, false);
  }

  get globals(): NonNullable<WovenTool["globals"]> {
    return [
      { type: I32, initial: encodeConstantExpression(I32, this.#mean) },
      { type: ANYREF, initial: NULL_ANY },
    ];
  }

  get exported(): NonNullable<WovenTool["globalExports"]> {
    return [
      { name: "objects.countdown", index: this.countdown },
      { name: "objects.object", index: this.#object },
    ];
  }

  chosen(type: number): { call: number; pass: number } {
    const known = this.#chosen.get(type);
    if (known !== undefined) return known;
    const { appended } = this.#around;
    const object = referenceType(type, false);
    const made = {
      pass: appended.typeIndex([object], [object]),
      call: appended.add(appended.typeIndex([object, I32, I32], [object]), () => this.#body()),
    };
    this.#chosen.set(type, made);
    return made;
  }

  /** Tells the host of the object, and starts the countdown again as it answers; without a host with the mean. */
  #body(): Uint8Array {
    const { shadowMemory } = this.#around;
    const body = new BodyBuilder();
    const access = (name: "i32.load" | "i32.store", field: number) =>
      shadowMemory === 0
        ? body.op(name, ALIGNED_I32, field)
        : body.op(name, ALIGNED_I32 | HAS_MEMORY_INDEX, shadowMemory, field);
    body.i32(0).op("local.get", 1);
    access("i32.store", Control.site);
    body.i32(0).op("local.get", 2);
    access("i32.store", Control.size);
    body.i32(0).op("global.get", this.countdown);
    access("i32.store", Control.rest);
    body.op("local.get", 0).op("global.set", this.#object).op("call", this.#callHost);
    // Nothing keeps the object alive.
    body.op("ref.null", 0x71).op("global.set", this.#object);
    body.i32(0);
    access("i32.load", Control.next);
    body.i32(this.#mean).i32(0);
    access("i32.load", Control.next);
    body.op("select").op("global.set", this.countdown);
    return body.op("local.get", 0).finish();
  }
}
