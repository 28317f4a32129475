/** Brings what clients send into the form of a schema: names as the schema writes them, values of its types. */
import { ScimError } from './error.ts'
import { attributeNamed, extensionNamed, isValues, topAttributes } from './schema.ts'
import type { Attribute, ResourceType, Schema, Values } from './schema.ts'

/**
 * The resource that a client sends to be stored (POST, PUT). What only the server writes, and attributes that the
 * schemas do not have, are left out, as RFC 7644 3.3 has it. Throws `invalidValue`, also for what is required and
 * missing.
 */
export function readResource(type: ResourceType, sent: Values): Values {
  const resource = readAttributes(topAttributes(type), sent)
  for (const [name, value] of Object.entries(sent)) {
    const extension = extensionNamed(type, name)
    if (extension && value !== null) resource[extension.id] = readExtension(extension, value)
  }
  for (const one of topAttributes(type))
    if (one.required && resource[one.name] === undefined) throw new ScimError('invalidValue', `${one.name} is missing`)
  return resource
}

/** The attributes of an extension, which is an object of the resource. Throws `invalidValue`. */
export function readExtension({ id, attributes }: Schema, value: unknown): Values {
  if (isValues(value)) return readAttributes(attributes, value)
  throw new ScimError('invalidValue', `${id} must be an object`)
}

function readAttributes(attributes: readonly Attribute[], sent: Values): Values {
  const read: Values = {}
  for (const [name, value] of Object.entries(sent)) {
    const attribute = attributeNamed(attributes, name)
    if (!attribute || attribute.mutability === 'readOnly') continue
    const one = readValue(attribute, value)
    if (one !== undefined) read[attribute.name] = one
  }
  return read
}

const elementsMaxDefault = 100

/** The value of an attribute; undefined = none (null and empty lists are the same, RFC 7643 2.5). */
export function readValue(attribute: Attribute, value: unknown): unknown {
  if (value === null || value === undefined) return undefined
  if (!attribute.multiValued) return readOne(attribute, value)
  const sent = Array.isArray(value) ? (value as unknown[]) : [value]
  const { name, elementsMax = elementsMaxDefault } = attribute
  if (sent.length > elementsMax) throw new ScimError('invalidValue', `${name} has more than ${elementsMax} elements`)
  const list = sent.map(one => readOne(attribute, one))
  return list.length === 0 ? undefined : withOnePrimary(list, list.findIndex(isPrimary))
}

/** One value, or one element of a list. Booleans may be texts, and complex values their `value` alone: so Entra ID. */
export function readOne(attribute: Attribute, value: unknown): unknown {
  const { name, type, subAttributes = [] } = attribute
  if (type === 'boolean') return readBoolean(name, value)
  if (type !== 'complex') {
    if (typeof value === 'string') return value
    if (typeof value === 'number') return String(value)
    throw new ScimError('invalidValue', `${name} must be a text`)
  }
  if (isValues(value)) return readAttributes(subAttributes, value)
  const main = attributeNamed(subAttributes, 'value')
  if (main && value !== null && !Array.isArray(value)) return { value: readOne(main, value) }
  throw new ScimError('invalidValue', `${name} must be an object`)
}

function readBoolean(name: string, value: unknown): boolean {
  const text = typeof value === 'string' ? value.toLowerCase() : value
  if (text === true || text === 'true') return true
  if (text === false || text === 'false') return false
  throw new ScimError('invalidValue', `${name} must be true or false`)
}

const isPrimary = (one: unknown): boolean => isValues(one) && one.primary === true

/** At most one element of a list is the primary one (RFC 7643 2.4): the one at `at`, where it says so itself. */
export function withOnePrimary(list: unknown[], at: number): unknown[] {
  return list.map((one, index) => (isPrimary(one) && index !== at ? { ...(one as Values), primary: false } : one))
}

/** Sets the fields of `from`, whose names are those of a schema. */
export function setAll(values: Values, from: Values): void {
  for (const [name, value] of Object.entries(from)) values[name] = value
}
