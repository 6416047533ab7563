/**
 * Size above which a function is large. Code that only saves time is not added to large functions: the time and memory
 * of an engine's compiler grow with the function, and at each branch with all of its locals.
 */
export const LARGE_FUNCTION_BYTES = 128 * 1024;
