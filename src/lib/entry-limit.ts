const one = () => 1

/**
 * Options of an `LRUCache` of at most so many entries, which takes memory for those that it has. Its own option `max`
 * takes 22 bytes for each that it might have, when it is made: 7 MB for the caches of a gateway.
 */
export function entryLimit(max: number): { readonly maxSize: number; readonly sizeCalculation: () => number } {
  return { maxSize: max, sizeCalculation: one }
}
