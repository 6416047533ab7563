import { MODULE_SPAN } from "../../profile/model/waste.ts";
import type { StaticObject, StaticsReport } from "../analyses/statics.ts";
import { measuresOf, once, type ToolMeasures } from "./measure.ts";
import { type Column, type MeasuredStacks, RowCollector } from "./measured-stacks.ts";

const STATICS = "a run with --tool heap, of a module whose data has fixed addresses, and the module itself";

/** Returns the pieces of static data, a row each, in the order of the report. */
const staticStacks = once(({ objects }: StaticsReport): MeasuredStacks => {
  const collector = new RowCollector();
  for (const { name, kind, file, line, module, address, bytes } of objects)
    collector.add([
      {
        function: kind === "shared" ? `${name} share ${bytes} B` : name,
        file,
        line: line || undefined,
        address: module * MODULE_SPAN + address,
        moduleIndex: module,
      },
    ]);
  return {
    tool: "statics",
    name: "static data",
    modules: [],
    ...collector.finish(),
    noun: "variable",
    labels: objects.map(({ use }) => use),
    gaps: [],
    notes: [],
  };
});

const ofObjects =
  (amountOf: (object: StaticObject) => number) =>
  ({ objects, atLeast }: StaticsReport): Column => ({
    amounts: Float64Array.from(objects, amountOf),
    isLowerBound: atLeast,
  });

export const STATIC_MEASURES: ToolMeasures = {
  tool: "statics",
  name: "static data",
  whole: "static data",
  recordedWith: "heap",
  first: ["static-unread", "static-bytes"],
  stacks: ({ statics }) => statics && staticStacks(statics),
  gaps: () => [],
  measures: measuresOf("statics", { needs: STATICS }, [
    {
      id: "static-accesses",
      isMain: true,
      aliases: [{ word: "static", in: ["top"] }],
      unit: "accesses",
      head: "ACCESSES",
      title: "accesses to static data",
      meaning: "loads and stores of static data, by variable",
      explainedBy: "unread-data",
      figures: ["accesses"],
      partOf: "static-accesses",
      sample: { type: "static_accesses" },
      beside: ["static-bytes"],
      column: ofObjects(({ accesses }) => accesses),
    },
    {
      id: "static-unread",
      isMain: true,
      aliases: [{ word: "unread-data", in: ["top"] }],
      unit: "bytes",
      head: "NOT READ",
      title: "static data never read",
      meaning: "bytes of static data that are certainly never read",
      explainedBy: "unread-data",
      figures: ["accesses"],
      partOf: "static-bytes",
      sample: { type: "static_unread_space" },
      beside: ["static-bytes"],
      column: (report) => ({
        ...ofObjects(({ untouchedBytes, unreadBytes }) => untouchedBytes + unreadBytes)(report),
        isLowerBound: undefined,
      }),
    },
    {
      id: "static-bytes",
      unit: "bytes",
      head: "BYTES",
      title: "bytes of static data",
      meaning: "bytes of static data, by variable",
      explainedBy: "unread-data",
      figures: ["accesses"],
      partOf: "static-bytes",
      sample: { type: "static_space" },
      beside: ["static-accesses", "static-unread"],
      column: (report) => ({ ...ofObjects(({ bytes }) => bytes)(report), isLowerBound: undefined }),
    },
  ]),
};
