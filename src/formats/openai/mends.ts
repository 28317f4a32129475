/** What is put right in an upstream's answer before a client of the same dialect gets it; all else stays as it came. */
import { exactText, parseExact } from '../../lib/json/exact-json.ts'
import { isObject } from '../../lib/json/json-values.ts'
import type { Edit, JsonBody } from '../../lib/json/json-body.ts'

/** One value of an answer, by its path, and what becomes of it; undefined = the member goes. */
export interface Mend {
  readonly path: readonly [string, ...(string | number)[]]
  value(before: unknown): unknown
}

/** A mend that does not depend on what stood there. */
export const put = (path: Mend['path'], value: unknown): Mend => ({ path, value: () => value })

/** Applies the mends to a parsed answer, in place. */
export function applyMends(answer: unknown, mends: readonly Mend[]): void {
  for (const { path, value } of mends) {
    let parent: unknown = answer
    for (const step of path.slice(0, -1))
      parent = isObject(parent) || Array.isArray(parent) ? at(parent, step) : undefined
    const last = path[path.length - 1]!
    if (Array.isArray(parent)) parent[last as number] = value(parent[last as number])
    else if (isObject(parent)) {
      const after = value(parent[last])
      if (after === undefined) delete parent[last]
      else parent[last] = after
    }
  }
}

const at = (parent: object, step: string | number): unknown => (parent as Record<string | number, unknown>)[step]

/** The mends of a whole answer as edits of its fields; digits of what they do not touch stay. */
export function mendEdits(body: JsonBody, mends: readonly Mend[]): Edit[] {
  return [...new Set(mends.map(mend => mend.path[0]))].map(name => {
    const text = body.rawText(name)
    const field = { [name]: text === undefined ? undefined : parseExact(text) }
    applyMends(
      field,
      mends.filter(mend => mend.path[0] === name),
    )
    return { set: name, json: exactText(field[name]) }
  })
}
