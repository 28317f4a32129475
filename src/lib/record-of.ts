/** A record that has a value for each of the names. */
export function recordOf<const Name extends string, Value>(
  names: readonly Name[],
  valueFor: (name: Name) => Value,
): Record<Name, Value> {
  return Object.fromEntries(names.map(name => [name, valueFor(name)])) as Record<Name, Value>
}
