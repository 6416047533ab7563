/** Limit of the followed memory. The tools' own memories have 32-bit addresses. */
export const LARGEST_FOLLOWED_BYTES = 2 ** 32;
export const BEYOND_SENTENCE = "The module's memory is 64-bit: only its first 4 GiB are recorded.";

/**
 * Size above which a function is large. Code that only saves time is not added to large functions: the time and memory
 * of an engine's compiler grow with the function, and at each branch with all of its locals.
 */
export const LARGE_FUNCTION_BYTES = 128 * 1024;
