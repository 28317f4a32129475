/** Loaded before the files of a test process. */

/**
 * While a test waits for timers and threads alone that are `unref`ed, as the program's are beside its server, `bun test`
 * asks for them again and again without a pause (Bun 1.4.4): it takes a whole processor. What is not `unref`ed lets it
 * sleep until something happens.
 */
const longestMs = 2 ** 31 - 1
setInterval(() => {}, longestMs)
