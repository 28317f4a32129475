/** Checks of parsed JSON. */

/** An object of JSON whose fields nobody has checked yet. */
export type JsonObject = Record<string, unknown>

/** An object: neither null nor a list. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The objects of a list; whatever else is there is left out. */
export function objectsOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}
