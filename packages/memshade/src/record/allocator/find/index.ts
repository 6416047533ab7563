export { findAllocator } from "./find-allocator.ts";
export { AllocatorMismatch, checkAllocatorOption } from "./option.ts";
export type { AllocatorPlan } from "./plan.ts";
