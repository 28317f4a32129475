/** Which attributes of a resource are shown (RFC 7644, section 3.9). */
import { parseAttributePath } from './path.ts'
import type { AttributePath } from './path.ts'
import { commonAttributes, isValues } from './schema.ts'
import type { Attribute, ResourceType, Values } from './schema.ts'

interface RequestedAttributes {
  /** Only these, and those that are always shown; absent or empty = all. */
  readonly attributes?: string | undefined
  /** Not these, unless they are always shown. */
  readonly excludedAttributes?: string | undefined
}

const always: ReadonlySet<string> = new Set(['schemas', ...namesOf(commonAttributes)])

function namesOf(attributes: readonly Attribute[]): string[] {
  return attributes.filter(one => one.returned === 'always').map(one => one.name)
}

/** Leaves out what is not requested. Unknown names are ignored; throws `invalidPath` for what is no name. */
export function projection(type: ResourceType, requested: RequestedAttributes): (resource: Values) => Values {
  const wanted = pathsIn(requested.attributes)
  const unwanted = pathsIn(requested.excludedAttributes)
  if (wanted.length === 0 && unwanted.length === 0) return resource => resource
  return resource => {
    const shown: Values = {}
    for (const [name, value] of Object.entries(resource)) {
      const kept = always.has(name)
        ? value
        : wanted.length > 0
          ? only(type, name, value, wanted)
          : without(type, name, value, unwanted)
      if (kept !== undefined) shown[name] = kept
    }
    return shown
  }
}

const pathsIn = (text = ''): AttributePath[] =>
  text
    .split(',')
    .map(one => one.trim())
    .filter(one => one !== '')
    .map(parseAttributePath)

/** What a path means within the value of a top attribute: all of it (`''`), a part, or nothing (undefined). */
function partNamed(type: ResourceType, top: string, { schema, name, sub }: AttributePath): string | undefined {
  const [key, whole] = [top.toLowerCase(), `${schema}:${name}`.toLowerCase()]
  if (schema === undefined || schema.toLowerCase() === type.schema.id.toLowerCase())
    return name.toLowerCase() === key ? (sub?.toLowerCase() ?? '') : undefined
  if (whole === key) return ''
  return schema.toLowerCase() === key ? name.toLowerCase() : undefined
}

function only(type: ResourceType, top: string, value: unknown, paths: readonly AttributePath[]): unknown {
  const parts = paths.map(path => partNamed(type, top, path)).filter(part => part !== undefined)
  if (parts.length === 0) return undefined
  return parts.includes('') ? value : parted(value, name => parts.includes(name))
}

function without(type: ResourceType, top: string, value: unknown, paths: readonly AttributePath[]): unknown {
  const parts = paths.map(path => partNamed(type, top, path)).filter(part => part !== undefined)
  if (parts.length === 0) return value
  return parts.includes('') ? undefined : parted(value, name => !parts.includes(name))
}

function parted(value: unknown, isKept: (name: string) => boolean): unknown {
  if (Array.isArray(value)) return value.map(one => parted(one, isKept))
  if (!isValues(value)) return value
  return Object.fromEntries(Object.entries(value).filter(([name]) => isKept(name.toLowerCase())))
}
