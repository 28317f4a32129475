/** What is typed as JSON in a form; undefined = it is no JSON object. */
export function jsonObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // The form says so, as for JSON that is no object.
  }
  return undefined
}
