/** References and patterns of a JSON Schema, resolved and compiled once: validation runs again and again. */
import type * as linearRegex from '../linear-regex/index.ts'
import { isObject } from './json-values.ts'
import type { Json } from './json-values.ts'

/** Finds what references within one schema stand for. */
export interface SchemaReferences {
  /** A JSON pointer (RFC 6901) into the schema, or an anchor, with the `$id` of the schema before it or without. */
  resolve(reference: string): unknown
}

const known = new WeakMap<Json, SchemaReferences>()

/** Of one schema, kept as long as it. */
export function schemaReferences(root: Json): SchemaReferences {
  let references = known.get(root)
  if (!references) known.set(root, (references = new References(root)))
  return references
}

/** Resolves references, each once: a schema may refer to one place thousands of times. */
class References {
  readonly #root: Json
  readonly #resolved = new Map<string, unknown>()
  #anchors: ReadonlyMap<unknown, unknown> | undefined

  constructor(root: Json) {
    this.#root = root
  }

  resolve(reference: string): unknown {
    if (!this.#resolved.has(reference)) this.#resolved.set(reference, this.#find(reference))
    return this.#resolved.get(reference)
  }

  #find(reference: string): unknown {
    const { $id } = this.#root
    const own = typeof $id === 'string' && reference.startsWith($id) ? reference.slice($id.length) : reference
    if (own === '' && own !== reference) return this.#root
    if (!own.startsWith('#')) return undefined
    const pointer = decode(own.slice(1))
    if (pointer !== '' && !pointer.startsWith('/')) return (this.#anchors ??= anchorsIn(this.#root)).get(pointer)
    let node: unknown = this.#root
    for (const step of pointer.split('/').slice(1)) {
      const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
      if (typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) return undefined
      node = (node as Json)[key]
    }
    return node
  }
}

/** Of equal anchors the first counts. */
function anchorsIn(root: Json): ReadonlyMap<unknown, unknown> {
  const anchors = new Map<unknown, unknown>()
  for (const { schema } of subschemasOf(root)) {
    const { $anchor } = schema
    if (typeof $anchor === 'string' && !anchors.has($anchor)) anchors.set($anchor, schema)
  }
  return anchors
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const schemaKeywords = (
  'additionalProperties additionalItems items contains propertyNames not if then else unevaluatedItems ' +
  'unevaluatedProperties contentSchema prefixItems allOf anyOf oneOf'
).split(' ')
const mapKeywords = ['properties', 'patternProperties', 'dependentSchemas', 'dependencies', '$defs', 'definitions']

/** The way to a schema in a schema, from its end on: deep schemas have many ends and share their beginnings. */
export interface SchemaPath {
  readonly step: string
  readonly before: SchemaPath | undefined
}

/** A schema in a schema; `path` is undefined for the outermost. */
export interface Subschema {
  readonly schema: Json
  readonly path: SchemaPath | undefined
}

/** The schema itself, and all schemas in it, from the outermost on. Values that are data are not gone into. */
export function* subschemasOf(root: Json): Generator<Subschema> {
  const open: { readonly node: unknown; readonly path: SchemaPath | undefined }[] = [{ node: root, path: undefined }]
  for (const { node, path } of open) {
    if (!isObject(node) || Array.isArray(node)) continue
    yield { schema: node, path }
    for (const keyword of schemaKeywords) {
      const value = node[keyword]
      const at = { step: keyword, before: path }
      if (Array.isArray(value))
        for (const [index, one] of value.entries()) open.push({ node: one, path: { step: `${index}`, before: at } })
      else if (value !== undefined) open.push({ node: value, path: at })
    }
    for (const keyword of mapKeywords) {
      const value = node[keyword]
      if (!isObject(value) || Array.isArray(value)) continue
      const at = { step: keyword, before: path }
      for (const [name, one] of Object.entries(value)) open.push({ node: one, path: { step: name, before: at } })
    }
  }
}

/** The steps of a way, from the root on. */
export function stepsOf(path: SchemaPath | undefined): string[] {
  const steps: string[] = []
  for (let at = path; at; at = at.before) steps.push(at.step)
  return steps.reverse()
}

/** A pattern that runs in linear time, or why there is none. */
export type SchemaPattern = { readonly test: (text: string) => boolean | undefined } | { readonly fault: string }

const patterns = new Map<string, SchemaPattern>()
const patternsMax = 500

/** The pattern of a keyword, compiled: `test` says whether a part of the text matches; undefined = too much work. */
export function schemaPattern(pattern: string): SchemaPattern {
  let compiled = patterns.get(pattern)
  if (!compiled) {
    if (patterns.size >= patternsMax) patterns.clear()
    patterns.set(pattern, (compiled = compile(pattern)))
  }
  return compiled
}

function compile(pattern: string): SchemaPattern {
  // Loaded with the first pattern, at once: few gateways see a schema with one.
  const { linearTest, PatternError } = require('../linear-regex/index.ts') as typeof linearRegex
  try {
    return { test: linearTest(pattern) }
  } catch (error) {
    if (error instanceof PatternError) return { fault: error.message }
    throw error
  }
}
