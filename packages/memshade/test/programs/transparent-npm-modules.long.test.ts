import { MODULES } from "../../../../bench/harness/programs.ts";
import { describeWorkloads } from "./compared-workloads.ts";
import { INSTRUMENTED } from "./fixtures.ts";

describeWorkloads(MODULES, INSTRUMENTED);
