/** The values in groups, in the order in which the first of each group comes. */
export function groupBy<Value, Group>(values: readonly Value[], groupOf: (value: Value) => Group): Map<Group, Value[]> {
  const groups = new Map<Group, Value[]>()
  for (const value of values) {
    const group = groups.get(groupOf(value))
    if (group) group.push(value)
    else groups.set(groupOf(value), [value])
  }
  return groups
}
