/** Limit of the followed memory. The tools' own memories have 32-bit addresses. */
export const LARGEST_FOLLOWED_BYTES = 2 ** 32;
export const BEYOND_SENTENCE = "The module's memory is 64-bit: only its first 4 GiB are recorded.";
