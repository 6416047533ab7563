import { LARGE } from "../../../../bench/harness/programs.ts";
import { describeWorkloads } from "./compared-workloads.ts";

describeWorkloads(LARGE, ["full"]);
