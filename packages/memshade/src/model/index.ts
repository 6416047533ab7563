export * from "./heap-profile.ts";
export { HeapProfileBuilder } from "./heap-profile-builder.ts";
export * from "./indices.ts";
export { type Block, blockMib, combineMibs, copyMib, type Mib, mergeMib } from "./mib.ts";
export { columnsOfMibs, type MibColumns, mibAt } from "./mib-columns.ts";
export { MIB_FIELDS, type MibField, type U32Field, type U64Field } from "./mib-fields.ts";
export { readRun } from "./read-run.ts";
export * from "./run.ts";
export { framesOfContext, leafFrameOfContext } from "./stacks.ts";
