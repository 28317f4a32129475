/** Whether a value fits a filter, for the elements of lists that paths of PATCH name. */
import { ScimError } from './error.ts'
import type { Comparison, Filter } from './path.ts'
import { attributeNamed } from './schema.ts'
import type { Attribute, Values } from './schema.ts'
import { readOne, setAll } from './values.ts'

/** `attributes` = those that the element may have. Throws `invalidFilter` for others. */
export function fits(filter: Filter, element: Values, attributes: readonly Attribute[]): boolean {
  switch (filter.kind) {
    case 'and':
      return filter.parts.every(part => fits(part, element, attributes))
    case 'or':
      return filter.parts.some(part => fits(part, element, attributes))
    case 'not':
      return !fits(filter.part, element, attributes)
    case 'present':
      return element[attributeOf(filter.path.name, attributes).name] !== undefined
    case 'compare': {
      const attribute = attributeOf(filter.path.name, attributes)
      return compares(attribute, element[attribute.name], filter.operator, filter.value)
    }
    case 'values':
      throw new ScimError('invalidFilter', `'${filter.path.name}' has a filter inside of a filter; write it with 'and'`)
  }
}

/** The element that a filter of equalities describes: `type eq "work"`; undefined = it does not describe one. */
export function elementFor(filter: Filter, attributes: readonly Attribute[]): Values | undefined {
  if (filter.kind === 'and') {
    const made: Values = {}
    for (const part of filter.parts) {
      const fields = elementFor(part, attributes)
      if (!fields) return undefined
      setAll(made, fields)
    }
    return made
  }
  if (filter.kind !== 'compare' || filter.operator !== 'eq' || filter.value === null) return undefined
  const attribute = attributeOf(filter.path.name, attributes)
  return { [attribute.name]: readOne(attribute, filter.value) }
}

function attributeOf(name: string, attributes: readonly Attribute[]): Attribute {
  const found = attributeNamed(attributes, name)
  if (found) return found
  const known = attributes.map(one => one.name).join(', ')
  throw new ScimError('invalidFilter', `there is no '${name.slice(0, 100)}' to compare; there are ${known}`)
}

function compares(attribute: Attribute, is: unknown, operator: Comparison, expected: unknown): boolean {
  if (expected === null) return (is === undefined) === (operator === 'eq')
  if (is === undefined) return operator === 'ne'
  if (attribute.type === 'boolean') {
    const equal = is === readOne(attribute, expected)
    return operator === 'eq' ? equal : operator === 'ne' && !equal
  }
  const [one, other] = attribute.caseExact
    ? [String(is), String(expected)]
    : [String(is).toLowerCase(), String(expected).toLowerCase()]
  const results: Readonly<Record<Comparison, () => boolean>> = {
    eq: () => one === other,
    ne: () => one !== other,
    co: () => one.includes(other),
    sw: () => one.startsWith(other),
    ew: () => one.endsWith(other),
    gt: () => one > other,
    ge: () => one >= other,
    lt: () => one < other,
    le: () => one <= other,
  }
  return results[operator]()
}
