/**
 * Changes a resource by the operations of a PATCH (RFC 7644, section 3.5.2), with what Entra ID and Okta send beside
 * it: operations in capitals, keys with dots in a value without a path, filters that fit nothing yet.
 */
import { ScimError } from './error.ts'
import { elementFor, fits } from './match.ts'
import { isPath, parseTarget } from './path.ts'
import type { Filter, Target } from './path.ts'
import { attributeNamed, extensionNamed, isValues, topAttributes } from './schema.ts'
import type { Attribute, ResourceType, Schema, Values } from './schema.ts'
import { readExtension, readOne, readValue, setAll, withOnePrimary } from './values.ts'

/** One operation of a PATCH (RFC 7644, 3.5.2). */
export interface Operation {
  readonly op: 'add' | 'replace' | 'remove'
  readonly path?: string | undefined
  readonly value?: unknown
}

/** The resource after all operations. Throws `invalidPath`, `noTarget`, `mutability` and `invalidValue`. */
export function patched(type: ResourceType, resource: Values, operations: readonly Operation[]): Values {
  const after = structuredClone(resource)
  for (const { op, path, value } of operations) {
    if (path !== undefined) {
      apply({ type, resource: after, op, isNamed: true }, path, value)
      continue
    }
    if (op === 'remove') throw new ScimError('noTarget', 'an operation `remove` needs a `path` that says what')
    if (!isValues(value)) throw new ScimError('invalidValue', `an operation \`${op}\` without \`path\` needs an object`)
    for (const [name, one] of Object.entries(value)) apply({ type, resource: after, op, isNamed: false }, name, one)
  }
  return after
}

interface Change {
  readonly type: ResourceType
  /** It is changed. */
  readonly resource: Values
  readonly op: Operation['op']
  /** By its path: what cannot be changed is an error then, and left out where it is one of several keys of a value. */
  readonly isNamed: boolean
}

/** What a target stands for. */
interface PatchTarget {
  /** The object that has the attribute. */
  readonly container: Values
  readonly attribute: Attribute
  readonly sub: Attribute | undefined
  readonly filter: Filter | undefined
  readonly op: Operation['op']
}

function apply(change: Change, text: string, value: unknown): void {
  const { type, resource, op, isNamed } = change
  const whole = extensionNamed(type, text)
  if (whole) return applyExtension(resource, op, whole, value)
  // A key of a value need not be a path: attributes of unknown schemas have any names.
  const target = isNamed || isPath(text) ? targetOf(change, text) : undefined
  if (!target) {
    if (!isNamed) return
    throw new ScimError('invalidPath', `there is no attribute '${text.slice(0, 200)}'; GET /Schemas lists them`)
  }
  const { attribute, filter } = target
  if (attribute.mutability === 'readOnly' || target.sub?.mutability === 'readOnly') {
    if (!isNamed) return
    throw new ScimError('mutability', `'${text.slice(0, 200)}' is read only`)
  }
  if (filter) changeElements(target, filter, value)
  else if (target.sub) changeSub(target, target.sub, value)
  else changeWhole(target, value)
  if (attribute.required && target.container[attribute.name] === undefined)
    throw new ScimError('mutability', `${attribute.name} is required and cannot be removed`)
}

function applyExtension(resource: Values, op: Operation['op'], extension: Schema, value: unknown): void {
  if (op === 'remove' || value === null) delete resource[extension.id]
  else
    resource[extension.id] = { ...(resource[extension.id] as Values | undefined), ...readExtension(extension, value) }
}

/** undefined = there is no such attribute. Names without an address may be those of an extension. */
function targetOf({ type, resource, op }: Change, text: string): PatchTarget | undefined {
  const { path, filter }: Target = parseTarget(text)
  const { schema, name, sub: subName } = path
  const isCore = schema === undefined || schema.toLowerCase() === type.schema.id.toLowerCase()
  const core = isCore ? attributeNamed(topAttributes(type), name) : undefined
  const extension = core
    ? undefined
    : type.extensions.find(
        one =>
          (schema === undefined || one.id.toLowerCase() === schema.toLowerCase()) &&
          attributeNamed(one.attributes, name),
      )
  const attribute = core ?? (extension && attributeNamed(extension.attributes, name))
  if (!attribute) return undefined
  const sub = subName === undefined ? undefined : attributeNamed(attribute.subAttributes ?? [], subName)
  if (subName !== undefined && !sub) return undefined
  if (filter && (!attribute.multiValued || attribute.type !== 'complex'))
    throw new ScimError('invalidPath', `'${attribute.name}' is no list of objects: it takes no filter`)
  const container = extension ? ((resource[extension.id] ??= {}) as Values) : resource
  return { container, attribute, sub, filter, op }
}

/** The elements of a list that fit the filter; where none does, adding and replacing make one that does. */
function changeElements({ container, attribute, sub, op }: PatchTarget, filter: Filter, value: unknown): void {
  const { name, subAttributes = [] } = attribute
  const list = (container[name] ?? []) as Values[]
  const found = list.filter(one => fits(filter, one, subAttributes))
  if (op === 'remove') {
    if (sub) for (const one of found) delete one[sub.name]
    return setList(container, name, sub ? list : list.filter(one => !found.includes(one)))
  }
  if (found.length === 0) {
    const made = elementFor(filter, subAttributes)
    if (!made) throw new ScimError('noTarget', `no element of '${name}' fits the filter of the path`)
    list.push(made)
    found.push(made)
  }
  for (const one of found)
    if (sub) setOrDelete(one, sub.name, readValue(sub, value))
    else setAll(one, readOne(attribute, value) as Values)
  const primary = list.findIndex(one => found.includes(one) && one.primary === true)
  setList(container, name, primary < 0 ? list : withOnePrimary(list, primary))
}

/** A part of an object, or of each object of a list. */
function changeSub({ container, attribute, op }: PatchTarget, sub: Attribute, value: unknown): void {
  const { name, multiValued } = attribute
  const after = op === 'remove' ? undefined : readValue(sub, value)
  if (container[name] === undefined && after === undefined) return
  const existing = container[name] ?? (multiValued ? [{}] : {})
  for (const one of multiValued ? (existing as Values[]) : [existing as Values]) setOrDelete(one, sub.name, after)
  container[name] = existing
}

function changeWhole({ container, attribute, op }: PatchTarget, value: unknown): void {
  const { name, multiValued, type } = attribute
  const before = container[name]
  const sent = readValue(attribute, value)
  if (op === 'remove' || sent === undefined) {
    // Entra ID names the elements that it removes in a value.
    const kept =
      multiValued && Array.isArray(sent) ? ((before ?? []) as unknown[]).filter(one => !isAmong(one, sent)) : []
    return setList(container, name, kept)
  }
  if (multiValued && op === 'add') {
    const [old, added] = [(before ?? []) as unknown[], sent as unknown[]]
    const list = [...old, ...added.filter(one => !isAmong(one, old))]
    const primary = list.findLastIndex(one => isValues(one) && one.primary === true)
    container[name] = withOnePrimary(list, primary)
  } else container[name] = !multiValued && type === 'complex' ? { ...(before as Values), ...(sent as Values) } : sent
}

/** The same value is in the list, of the same type where both have one. */
function isAmong(one: unknown, list: readonly unknown[]): boolean {
  return list.some(other => {
    if (!isValues(one) || !isValues(other) || one.value === undefined) return Bun.deepEquals(one, other)
    return one.value === other.value && (!one.type || !other.type || one.type === other.type)
  })
}

function setOrDelete(values: Values, name: string, value: unknown): void {
  if (value === undefined) delete values[name]
  else values[name] = value
}

/** A list without elements is no value. */
function setList(container: Values, name: string, list: unknown[]): void {
  setOrDelete(container, name, list.length === 0 ? undefined : list)
}
