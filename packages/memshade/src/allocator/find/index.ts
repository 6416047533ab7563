export { type FindAllocatorOptions, findAllocator } from "./find-allocator.ts";
export type {
  AllocatorFunction,
  AllocatorKind,
  AllocatorPlan,
  AllocatorRole,
  AllocatorSource,
  OperandPositions,
} from "./plan.ts";
