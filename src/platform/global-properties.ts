/**
 * All properties of the global object from the start. The runtime makes most of them when they are first read, which
 * changes the shape of the object (`fetch` and `setImmediate` do): compiled code that reads any global, `Buffer` or
 * `Math`, is left then, thrown away, and compiled again.
 *
 * Gain in the first twelve seconds of translated calls: code of the last compiler was left 745 times in place of 9,135
 * (docs/decisions/0005). Cost: 1 ms and 170 KB of heap.
 */

/** Reads each property of the global object once. */
export function readGlobals(): void {
  for (const name of Object.getOwnPropertyNames(globalThis)) Reflect.get(globalThis, name)
}
