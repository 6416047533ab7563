/** Tools follow a memory up to here, as their own memories have addresses of 32 bits. */
export const LARGEST_FOLLOWED_BYTES = 2 ** 32;
/** What is said of one that may be larger. */
export const BEYOND_SENTENCE = "The module's memory is 64-bit: only its first 4 GiB are followed.";
