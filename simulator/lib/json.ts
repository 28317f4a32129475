/** Checks of parsed JSON. */

/** A JSON object with unchecked fields. */
export type JsonObject = Record<string, unknown>

/** An object: neither null nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The objects of an array; other elements are left out. */
export function objectsOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}
