/** Type checks for JSON from clients and upstreams. */

/** Any JSON object. */
export type Json = Record<string, unknown>

/** An object, not an array and not null. */
export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
/** Anything but an array is an empty one. */
export const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
/** The objects of an array. */
export const objectsOf = (value: unknown): Json[] => listOf(value).filter(isObject)
/** Anything but a string is an empty one. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
