import { namedModuleOf } from "../../../profile/model/named-module.ts";
import { WORKING_SET_FILE } from "../../tools/working-set/read/working-set-session.ts";
import { Header } from "../layout.ts";
import { describeNative } from "../tools/working-set/read/describe-native.ts";
import { contextPath } from "./heap-part.ts";
import type { ToolReader } from "./tool-reader.ts";
import { unsharedMarks } from "./uncounted-accesses.ts";
import { bytesTaken } from "./waste-part.ts";

const NO_LINES_YET = "There is no working set yet: the first interval has not ended.";
const NO_LINES = "There is no working set: nobody has seen the marks of lines before the process ended.";

/** The part of the working set. */
export const WORKING_SET_READER: ToolReader = {
  read({ left: { workingSet, samples, counts }, view, program, described, ours, isRunning }) {
    const unshared = unsharedMarks(view);
    if (unshared.length > 0) return { part: undefined, gaps: unshared };
    const facts = {
      ...program,
      modules: described.map(namedModuleOf),
      threads: view.getUint32(Header.threads, true),
      pathOf: (context: number) => contextPath(view, context, ours),
    };
    const start = Number(view.getBigUint64(Header.start, true));
    const lines = workingSet && describeNative(workingSet, facts, samples, start);
    if (lines === undefined) return { part: undefined, gaps: [isRunning ? NO_LINES_YET : NO_LINES] };
    const { profile, description, bounds } = lines;
    const contents = `${JSON.stringify(profile)}\n`;
    return {
      gaps: [],
      part: {
        tools: { workingset: description },
        files: [{ member: "workingset", name: WORKING_SET_FILE, contents }],
        shadowBytes: counts === undefined ? 0 : bytesTaken(counts),
        bounds,
      },
    };
  },
};
