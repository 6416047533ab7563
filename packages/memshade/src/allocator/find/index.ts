export { findAllocator } from "./find-allocator.ts";
export type { AllocatorPlan } from "./plan.ts";
